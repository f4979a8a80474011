"""Ages and timestamps as kubectl users know them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.kube import ages

NOW = datetime(2026, 11, 15, 19, 50, 36, 826201, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "printed"),
    [
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (605, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 61, "3h1m"),
        (8 * HOUR, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 3 * DAY, "2y3d"),
        (8 * YEAR + DAY, "8y"),
    ],
)
def test_a_duration_is_printed_with_two_or_three_figures(seconds: float, printed: str) -> None:
    assert ages.human_duration(seconds) == printed


def test_clocks_may_differ_by_less_than_two_seconds() -> None:
    assert ages.human_duration(-1.9) == "0s"
    assert ages.human_duration(-2) == "<invalid>"


def test_no_timestamp_has_an_unknown_age() -> None:
    assert ages.human_age(None, NOW) == "<unknown>"
    assert ages.age_of(None, NOW) == ages.age_of("", NOW) == "<unknown>"
    assert ages.age_of("0001-01-01T00:00:00Z", NOW) == "<unknown>"


def test_an_unreadable_timestamp_has_an_invalid_age() -> None:
    for text in ("yesterday", "2026-11-15 19:50:36", "2026-11-15", "2026-13-01T00:00:00Z", 7, {"a": 1}):
        assert ages.age_of(text, NOW) == "<invalid>"


def test_timestamps_are_utc_without_fractions() -> None:
    assert ages.timestamp(NOW) == "2026-11-15T19:50:36Z"
    assert ages.timestamp(NOW.astimezone(timezone(timedelta(hours=9)))) == "2026-11-15T19:50:36Z"
    assert ages.micro_timestamp(NOW.replace(microsecond=0)) == "2026-11-15T19:50:36.000000Z"


def test_timestamps_may_have_any_offset_and_fraction() -> None:
    for text in (
        "2026-11-15T19:50:36.826201Z",
        "2026-11-16T04:50:36.826201+09:00",
        "2026-11-15T19:50:36.826201999Z",
    ):
        assert ages.parse_timestamp(text) == NOW
    assert ages.parse_timestamp("2026-11-15T19:50:36Z") == NOW.replace(microsecond=0)


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.just(UTC)))
def test_what_is_written_can_be_read(moment: datetime) -> None:
    assert ages.parse_timestamp(ages.micro_timestamp(moment)) == moment
    assert ages.parse_timestamp(ages.timestamp(moment)) == moment.replace(microsecond=0)
