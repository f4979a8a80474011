"""Why a pod ends before its work does, in the words of its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SHUTDOWN: Final = ("NodeShutdown", "the pod was ended because Trainshed was stopped on this machine")
LOST: Final = (
    "ContainerStatusUnknown",
    "the pod's containers and the records of how they ended were gone when the node agent came back:"
    " the machine was restarted, or they were removed",
)
DEADLINE: Final = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")

Why = Literal["deleted", "failed", "drained", "vanished"]
"""Wanted gone, broke a rule, we are being stopped, is gone already."""


@dataclass(frozen=True, slots=True)
class Stop:
    why: Why
    reason: str = ""
    message: str = ""
