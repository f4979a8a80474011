"""When a mere change of readiness is written: at once, unless many Jobs become ready in the same moment.

Upstream looks at pods a second after they changed, so that several changes make one write
(`syncJobBatchPeriod`). Here that is so in a crowd only, where a pod has often ended within its second.
"""

from __future__ import annotations

from typing import Final

from trainshed.kube.objects import Object, without
from trainshed.loop.keys import Key

SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 10
"""Jobs within a second that are no crowd yet: more than one after the other can be."""


class Crowd:
    """Which Jobs became ready lately, and which of them may say so later."""

    def __init__(self) -> None:
        self._said: dict[Key, float] = {}
        self._due: dict[Key, float] = {}

    def seconds_left(self, key: Key, now: float) -> float:
        """How long a Job's readiness may go unsaid; 0 says that it is written now."""
        due = self._due.get(key)
        if due is None and self._is_crowded(key, now):
            due = self._due[key] = now + SECONDS
        left = 0.0 if due is None else due - now
        if 0 < left <= SECONDS:  # more is left where the clock was set back: that keeps nobody waiting
            return left
        self._due.pop(key, None)
        self._said.pop(key, None)
        self._said[key] = now
        return 0.0

    def forget(self, key: Key) -> None:
        """It has said everything, or it is gone."""
        self._due.pop(key, None)

    def _is_crowded(self, key: Key, now: float) -> bool:
        """Whether enough other Jobs have said so within the second; one alone never makes a crowd."""
        for other, when in [*self._said.items()]:
            if abs(now - when) <= SECONDS:
                break
            del self._said[other]
        return key not in self._said and len(self._said) >= MOST_AT_ONCE


def is_mere_readiness(before: Object, after: Object) -> bool:
    """Whether a status says nothing new but how many pods are ready."""
    return "ready" in before and without(before, ("ready",)) == without(after, ("ready",))
