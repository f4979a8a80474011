"""Names for jobs of the same user in the same second: each gets a number of its own without asking around."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime, timedelta

MOST = 99
"""The naming leaves room for two digits; the next one gets the next second."""
_REMEMBERED = 10_000


class Numbers:
    """Which numbers this process has given out; others' are found out when the name is taken."""

    def __init__(self) -> None:
        self._given: OrderedDict[tuple[str, str, datetime], int] = OrderedDict()

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
        """Let the next one have a number of which nothing came; only the last one given is free again."""
        key = (namespace, user, second)
        if self._given.get(key) == number:
            self._given[key] = number - 1

    def _next(self, key: tuple[str, str, datetime]) -> int:
        number = self._given.get(key, 0) + 1
        self._given[key] = min(number, MOST + 1)
        if len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)
        return number
