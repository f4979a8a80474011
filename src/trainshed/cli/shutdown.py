"""Whether the control plane on this machine was stopped on purpose while a command waited for it.

What is killed leaves its note and may come back; what ends well takes its note along.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from trainshed.cli.target import Target
from trainshed.compose import lifecycle, turns
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.trouble import HERE, PLACE, PROGRAM, Trouble

_WATCHES = logging.getLogger("trainshed.client.watch")


@dataclass(frozen=True, slots=True)
class Shutdown:
    folder: DataFolder

    @property
    def is_over(self) -> bool:
        return lifecycle.is_stopped(self.folder)

    @property
    def is_near(self) -> bool:
        return turns.is_taken(self.folder) or self.is_over


def of(where: Target) -> Shutdown | None:
    """None for a cluster: there is nothing of ours that could tell."""
    return Shutdown(where.folder) if where.is_embedded else None


@contextlib.contextmanager
def alone_told(shutdown: Shutdown | None) -> Iterator[None]:
    """Say nothing of watches that will resume when everything is being stopped."""

    def is_news(_: logging.LogRecord) -> bool:
        return shutdown is None or not shutdown.is_near

    _WATCHES.addFilter(is_news)
    try:
        yield
    finally:
        _WATCHES.removeFilter(is_news)


def told(address: str, *, has_run: bool) -> Trouble:
    """What became of a job that was being followed, and what next."""
    again, look = f"start it again with {PROGRAM} up{HERE}", f"{PROGRAM} logs {address}{PLACE}"
    if has_run:
        fate = f"and the pods of {address} with it: the job fails by that unless it may be tried again"
        return Trouble(f"the control plane was stopped, {fate}", f"{again}; its lines stay: {look}")
    fate = f"before {address} ran: it is kept, and goes on when all is started again"
    return Trouble(f"the control plane was stopped {fate}", f"{again}, and see its lines with {look} -f")
