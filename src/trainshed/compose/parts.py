"""The parts of a running Trainshed, each a process of its own that can be started and killed alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PartName = Literal["server", "operator", "agent", "backend"]


@dataclass(frozen=True, slots=True)
class Part:
    name: PartName
    stop_seconds: float
    """How long it may take to end after it was asked to."""

    @property
    def module(self) -> str:
        """What `python -m` runs for it."""
        return f"trainshed.compose.{self.name}process"


SERVER = Part("server", 15.0)
OPERATOR = Part("operator", 15.0)
AGENT = Part("agent", 90.0)  # its pods end first, and each has a grace period
BACKEND = Part("backend", 20.0)  # requests under way end first

CORE = (SERVER, OPERATOR, AGENT)
"""Without these nothing runs."""
ALL = (*CORE, BACKEND)
LEAVING_ORDER = (BACKEND, OPERATOR, AGENT, SERVER)
"""Nobody makes pods while they end, and what becomes of them is still told to the server."""
