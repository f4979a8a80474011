"""When a reason is worth telling: soon, when it changes, and seldom enough to stay a side issue. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trainshed.controllers.scheduler.gangs import Gang, GangKey
from trainshed.controllers.scheduler.reasons import Reason
from trainshed.kinds.reading import entries
from trainshed.kube.objects import Object

PATIENCE = 0.3
"""Seconds: whoever waits less need not be told."""
PAUSE = 2.0
"""Between two tellings of what is the same reason with other numbers."""
LIVE = 5
"""So many at the front of the line are kept up to date with numbers."""
AT_ONCE = 20
BREATH = 0.1

_Why = Callable[[Gang], Reason]


@dataclass(frozen=True, slots=True)
class Told:
    reason: Reason
    at: float


@dataclass(slots=True)
class Telling:
    told: dict[GangKey, Told] = field(default_factory=dict)
    waits: dict[GangKey, float] = field(default_factory=dict)
    """Since when we know that each waits."""
    looked: float = 0.0

    def due(
        self, now: float, line: Sequence[Gang], why: _Why
    ) -> tuple[list[tuple[Gang, Reason]], float | None]:
        """Whom to tell what now, and after how many seconds to look again (None: when something changes)."""
        if not line:
            self.told.clear()
            self.waits.clear()
            return [], None
        if 0 <= now - self.looked < BREATH:
            return [], BREATH
        self.looked = now
        self._forget_others(line)
        found: list[tuple[Gang, Reason]] = []
        waits: list[float] = []
        for place, gang in enumerate(line):
            if len(found) >= AT_ONCE:
                return found, BREATH
            wait = self._consider(now, place, gang, why, found)
            if wait is not None:
                waits.append(wait)
        return found, max(BREATH, min(waits)) if waits else None

    def _consider(
        self, now: float, place: int, gang: Gang, why: _Why, found: list[tuple[Gang, Reason]]
    ) -> float | None:
        """Add the gang if it is to be told something; else the seconds until it may be."""
        told, age = self.told.get(gang.key), now - self.waits.setdefault(gang.key, now)
        if told is not None and now - told.at < PAUSE and place >= LIVE:
            return PAUSE - (now - told.at)
        reason = why(gang)
        if told is None:
            if age < PATIENCE and not reason.lasting:
                return PATIENCE - age
        elif (told.reason.words, told.reason.sign) == (reason.words, reason.sign):
            self.told[gang.key] = Told(reason, now) if place >= LIVE else told
            return None if place < LIVE else PAUSE
        elif told.reason.sign == reason.sign:
            if place >= LIVE:
                self.told[gang.key] = Told(told.reason, now)
                return PAUSE
            if now - told.at < PAUSE:
                return PAUSE - (now - told.at)
        self.told[gang.key] = Told(reason, now)
        found.append((gang, reason))
        return None

    def _forget_others(self, line: Sequence[Gang]) -> None:
        present = {gang.key for gang in line}
        for known in (self.told, self.waits):
            for key in [key for key in known if key not in present]:
                del known[key]


def condition_of(pod: Object) -> Object | None:
    found = (one for one in entries(pod, "status", "conditions") if one.get("type") == "PodScheduled")
    return next(found, None)


def condition(before: Object | None, words: str, now: str) -> Object:
    same = before is not None and before.get("status") == "False" and before.get("lastTransitionTime")
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": words,
        "lastTransitionTime": before["lastTransitionTime"] if same and before else now,
    }
