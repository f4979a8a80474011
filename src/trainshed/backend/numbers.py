"""Names for jobs of the same user in the same second: each gets a number of its own without asking around."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

MOST = 99
"""The naming leaves room for two digits; the next one gets the next second."""
_REMEMBERED = 10_000


@dataclass(slots=True)
class _Given:
    """Of one second."""

    last: int = 0
    free: list[int] = field(default_factory=list)
    """Given back, the smallest first."""


class Numbers:
    """Which numbers this process has given out; others' are found out when the name is taken."""

    def __init__(self) -> None:
        self._given: OrderedDict[tuple[str, str, datetime], _Given] = OrderedDict()

    def of(self, namespace: str, user: str, moment: datetime) -> Iterator[tuple[datetime, int]]:
        """Seconds and numbers to try, without end; no two callers get the same."""
        second = moment.replace(microsecond=0)
        while True:
            number = self._next((namespace, user, second))
            if number > MOST:
                second += timedelta(seconds=1)
            else:
                yield second, number

    def give_back(self, namespace: str, user: str, second: datetime, number: int) -> None:
        """Let the next one have a number of which nothing came."""
        found = self._given.get((namespace, user, second))
        if found is not None and number not in found.free:
            heapq.heappush(found.free, number)

    def _next(self, key: tuple[str, str, datetime]) -> int:
        found = self._given.setdefault(key, _Given())
        if len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)
        if found.free:
            return heapq.heappop(found.free)
        found.last = min(found.last + 1, MOST + 1)
        return found.last
