"""status.uncountedTerminatedPods: how every pod is counted once, wherever the counting is interrupted.

A pod that ended is noted here by its uid, then its finalizer is taken off, then it moves from here to the
counter. Whoever comes after a crash finds the note and goes on: a noted pod is not noted again, and a noted
pod without a finalizer (or gone) only has to be moved. Successes of an index need no note: the index is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from trainshed.kube.objects import Object, dig

MOST = 500
"""Notes at a time: more would make a status of more than 20 KB."""


@dataclass(frozen=True, slots=True)
class Notes:
    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.succeeded) + len(self.failed)

    def __contains__(self, uid: str) -> bool:
        return uid in self.succeeded or uid in self.failed

    def adding(self, succeeded: Iterable[str], failed: Iterable[str]) -> Notes:
        return Notes((*self.succeeded, *succeeded), (*self.failed, *failed))

    def body(self) -> Object:
        lists = {"succeeded": [*self.succeeded], "failed": [*self.failed]}
        return {key: value for key, value in lists.items() if value}


def read(status: Object) -> Notes:
    found = dig(status, "uncountedTerminatedPods")
    return Notes(tuple(dig(found, "succeeded") or ()), tuple(dig(found, "failed") or ()))


def settled(status: Object, tracked: Collection[str]) -> Object:
    """The status with the notes moved to the counters whose pods have no finalizer any more."""
    notes = read(status)
    kept = Notes(
        tuple(uid for uid in notes.succeeded if uid in tracked),
        tuple(uid for uid in notes.failed if uid in tracked),
    )
    if len(kept) == len(notes):
        return status
    moved = {
        "succeeded": len(notes.succeeded) - len(kept.succeeded),
        "failed": len(notes.failed) - len(kept.failed),
    }
    counters = {name: (status.get(name) or 0) + more for name, more in moved.items() if more}
    return {**status, **counters, "uncountedTerminatedPods": kept.body()}
