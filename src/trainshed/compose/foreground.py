"""`up --foreground`: waiting beside the parts until somebody wants them ended, or one ends by itself."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from trainshed.compose import interrupts, statefile, turns
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.parts import Part

LOOK_SECONDS = 0.5


@dataclass(slots=True)
class Announced:
    """Whether the parts were said to run: from then on it is on us to end them."""

    is_set: bool = False

    def set(self) -> None:
        self.is_set = True


@contextmanager
def ending_all(stop: Callable[[], object]) -> Iterator[Announced]:
    """End the parts with the block, in their order; a signal is then the usual way to end, not an error."""
    announced = Announced()
    try:
        yield announced
    except (KeyboardInterrupt, SystemExit):
        if not announced.is_set:
            raise
    finally:
        if announced.is_set:
            with interrupts.noted() as note:
                stop()
                note.signal = 0


def await_end(folder: DataFolder, parts: Sequence[Part]) -> str:
    """Return when a signal came or `down` has ended them; the name of a part that ended by itself."""
    with interrupts.noted() as note:
        while not note.signal:
            missing = _missing(folder, parts)
            if len(missing) == len(parts):
                break
            if missing and not turns.is_taken(folder):
                return missing[0].name
            select.select([note.wakeup], [], [], LOOK_SECONDS)
        note.signal = 0
    return ""


def _missing(folder: DataFolder, parts: Sequence[Part]) -> list[Part]:
    _reap()
    return [part for part in parts if statefile.running_any(folder.note(part.name)) is None]


def _reap() -> None:
    """Let children that ended be gone; nobody else waits for them."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
