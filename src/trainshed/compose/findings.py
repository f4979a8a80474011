"""What one check of this machine found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["ok", "limited", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    state: State
    found: str
    meaning: str = ""
    """What does not work, when something is wrong."""
    fix: str = ""
    essential: bool = False
    """Without it the control plane itself does not work."""

    def body(self) -> dict[str, object]:
        return asdict(self)
