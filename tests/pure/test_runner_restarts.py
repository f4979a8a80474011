"""When a container starts again, and after how long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.runner import restarts
from trainshed.runner.states import Part


@pytest.mark.parametrize(
    ("policy", "part", "code", "again"),
    [
        ("Always", "main", 0, True),
        ("Always", "main", 1, True),
        ("OnFailure", "main", 0, False),
        ("OnFailure", "main", 137, True),
        ("Never", "main", 1, False),
        ("Always", "init", 0, False),
        ("Always", "init", 1, True),
        ("OnFailure", "init", 1, True),
        ("Never", "init", 1, False),
        ("Never", "sidecar", 0, True),
        ("Never", "sidecar", 1, True),
    ],
)
def test_policy_and_part_decide_whether_it_starts_again(
    policy: str, part: Part, code: int, again: bool
) -> None:
    assert restarts.starts_again(policy, part, code) is again


def test_the_first_restart_comes_at_once_and_the_others_ever_later() -> None:
    waits = [restarts.wait_before(number) for number in range(11)]
    assert waits == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0]


@given(st.integers(0, 10_000))
def test_no_wait_is_shorter_than_the_one_before_or_longer_than_five_minutes(number: int) -> None:
    assert restarts.wait_before(number) <= restarts.wait_before(number + 1) <= restarts.LONGEST_WAIT


@pytest.mark.parametrize(("ran", "expected"), [(0.1, 4), (599.0, 4), (600.0, 0)])
def test_a_long_run_is_no_crash_loop(ran: float, expected: int) -> None:
    assert restarts.in_a_row(4, ran) == expected


@pytest.mark.parametrize(
    ("seconds", "words"), [(1.0, "1s"), (16.0, "16s"), (64.0, "1m4s"), (300.0, "5m0s"), (120.0, "2m0s")]
)
def test_waits_are_told_as_upstream_tells_them(seconds: float, words: str) -> None:
    expected = f"back-off {words} restarting failed container=node pod=p_ns(uid)"
    assert restarts.back_off_message(seconds, "node", "p_ns(uid)") == expected
