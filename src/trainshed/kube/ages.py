"""Points in time as Kubernetes writes them, and how long ago they were as kubectl prints it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from trainshed.kube.objects import JSON

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def timestamp(now: datetime) -> str:
    """`2026-11-15T19:50:36Z`: metav1.Time has no fractions."""
    moment = now if now.tzinfo is UTC else now.astimezone(UTC)
    return moment.isoformat(timespec="seconds")[:19] + "Z"


def micro_timestamp(now: datetime) -> str:
    """`2026-11-15T19:50:36.826201Z`: metav1.MicroTime always has six digits."""
    return now.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def parse_timestamp(text: JSON) -> datetime | None:
    """An RFC 3339 time (any offset, any fraction) in UTC; None for anything else."""
    if not isinstance(text, str) or not _RFC3339.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def age_of(text: JSON, now: datetime) -> str:
    """The age of a timestamp found in an object; a missing one and Go's zero time are unknown."""
    if not text:
        return UNKNOWN
    then = parse_timestamp(text)
    if then is None:
        return INVALID
    return UNKNOWN if then.year == 1 else human_age(then, now)


def human_age(then: datetime | None, now: datetime) -> str:
    return UNKNOWN if then is None else human_duration((now - then).total_seconds())


def human_duration(length: float) -> str:
    """Two or three significant figures: `90s`, `5m30s`, `3h10m`, `2d4h`, `400d`, `3y12d`.

    Up to two seconds below zero count as now: clocks of two machines differ.
    """
    seconds = int(length)
    if seconds < 0:
        return "0s" if seconds == -1 else INVALID
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 3 * _HOUR:
        return _two(seconds, _MINUTE, "m", 1, "s", until=10 * _MINUTE)
    if seconds < 2 * _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "m", until=8 * _HOUR)
    if seconds < 2 * _YEAR:
        return _two(seconds, _DAY, "d", _HOUR, "h", until=8 * _DAY)
    return _two(seconds, _YEAR, "y", _DAY, "d", until=8 * _YEAR)


def _two(seconds: int, unit: int, mark: str, part: int, part_mark: str, *, until: int) -> str:
    """The whole units, and below `until` what remains in the next smaller one."""
    rest = seconds % unit // part
    whole = f"{seconds // unit}{mark}"
    return f"{whole}{rest}{part_mark}" if rest and seconds < until else whole
