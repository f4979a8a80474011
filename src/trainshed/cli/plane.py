"""The control plane on this machine, as a command that follows a job sees it.

What is killed leaves its note and may come back; what ends well takes its note along.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trainshed.cli.target import Target
from trainshed.compose import lifecycle, turns
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.trouble import HERE, PLACE, PROGRAM, Trouble

_WATCHES = logging.getLogger("trainshed.client.watch")


@dataclass(frozen=True, slots=True)
class Plane:
    folder: DataFolder

    @property
    def is_stopped(self) -> bool:
        """On purpose, while the command waited for it."""
        return lifecycle.is_stopped(self.folder)

    @property
    def is_stopping(self) -> bool:
        try:
            return turns.is_taken(self.folder) or self.is_stopped
        except (Trouble, OSError):  # asked while something else is told, which must not fail over it
            return False

    @property
    def logs(self) -> Path:
        """Where lines of pods are kept."""
        return self.folder.pod_logs


def of(where: Target) -> Plane | None:
    """None for a cluster: there is nothing of ours that could tell."""
    return Plane(where.folder) if where.is_embedded else None


@contextlib.contextmanager
def stop_alone_told(plane: Plane | None) -> Iterator[None]:
    """Say nothing of watches that will resume when everything is being stopped."""

    def is_news(_: logging.LogRecord) -> bool:
        return plane is None or not plane.is_stopping

    _WATCHES.addFilter(is_news)
    try:
        yield
    finally:
        _WATCHES.removeFilter(is_news)


def stop_told(address: str, *, has_run: bool) -> Trouble:
    """What became of a job that was being followed, and what next."""
    again, look = f"start it again with {PROGRAM} up{HERE}", f"{PROGRAM} logs {address}{PLACE}"
    if has_run:
        fate = f"and the pods of {address} with it: the job fails by that unless it may be tried again"
        return Trouble(f"the control plane was stopped, {fate}", f"{again}; its lines stay: {look}")
    fate = f"before {address} ran: it is kept, and goes on when all is started again"
    return Trouble(f"the control plane was stopped {fate}", f"{again}, and see its lines with {look} -f")
