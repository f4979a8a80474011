"""How far the rows on disk have been thinned out, and what the next small step is."""

from __future__ import annotations


class Compaction:
    """`ask` comes from the event loop, the rest from the writer's thread: one integer, no lock."""

    __slots__ = ("_step", "_wanted", "done")

    def __init__(self, done: int, step: int) -> None:
        self.done = done
        self._wanted = done
        self._step = step

    def ask(self, revision: int) -> None:
        self._wanted = max(self._wanted, revision)

    @property
    def is_due(self) -> bool:
        return self._wanted > self.done

    def step(self) -> tuple[int, int]:
        """The revisions after the first and up to the second are to be looked at next."""
        return self.done, min(self.done + self._step, self._wanted)

    def postpone(self) -> None:
        """Give up until asked again: a disk that refuses is not asked in a circle."""
        self._wanted = self.done
