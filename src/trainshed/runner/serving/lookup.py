"""What has to be known of a container before somebody may look into it; the agent knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Run:
    """The run of a container that goes on, or else its last one."""

    attempt: int
    is_running: bool
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The container's own environment; commands run in it get the same."""
    stdin: bool = False
    stdin_once: bool = False
    """Whether the input ends with the first who attaches to it."""
    tty: bool = False


class Lookup(Protocol):
    def find(self, pod_uid: str, container: str) -> Run | None:
        """None for a container that never ran here, or is forgotten."""
        ...

    async def ended(self, pod_uid: str, container: str, attempt: int) -> None:
        """Returns once this run is over and all it wrote is in its log; at once for one nobody knows."""
        ...
