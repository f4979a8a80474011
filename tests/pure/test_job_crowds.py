"""When a Job's mere readiness is written: at once, later in a crowd, never later than a second."""

from __future__ import annotations

from trainshed.controllers.job.crowds import MOST_AT_ONCE, SECONDS, Crowd, is_mere_readiness
from trainshed.loop.keys import Key


def a_key(number: int) -> Key:
    return Key("default", f"job-{number}")


def a_crowd(now: float = 0.0) -> Crowd:
    """As many Jobs as may say so at once have done it."""
    crowd = Crowd()
    assert [crowd.seconds_left(a_key(number), now) for number in range(MOST_AT_ONCE)] == [0.0] * MOST_AT_ONCE
    return crowd


def test_few_jobs_say_at_once_that_they_are_ready() -> None:
    crowd = a_crowd()
    assert crowd.seconds_left(a_key(0), 0.1) == 0.0  # whose pods become ready one after the other


def test_in_a_crowd_one_more_has_a_second() -> None:
    crowd = a_crowd()
    assert crowd.seconds_left(a_key(99), 0.25) == SECONDS
    assert crowd.seconds_left(a_key(99), 0.75) == 0.5
    assert crowd.seconds_left(a_key(99), 1.25) == 0.0


def test_a_crowd_is_over_after_a_second() -> None:
    crowd = a_crowd()
    assert crowd.seconds_left(a_key(99), SECONDS + 0.1) == 0.0


def test_what_was_said_otherwise_does_not_count_against_the_next_time() -> None:
    crowd = a_crowd()
    assert crowd.seconds_left(a_key(99), 0.0) > 0
    crowd.forget(a_key(99))
    assert crowd.seconds_left(a_key(99), 0.5) == SECONDS


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    crowd = a_crowd(now=1000.0)
    assert crowd.seconds_left(a_key(98), 1000.0) == SECONDS
    assert crowd.seconds_left(a_key(98), 10.0) == 0.0
    assert crowd.seconds_left(a_key(99), 10.0) == 0.0


def test_only_a_number_of_ready_pods_may_wait() -> None:
    said = {"active": 1, "ready": 0, "terminating": 0}
    assert is_mere_readiness(said, {**said, "ready": 1})
    assert not is_mere_readiness(said, {"ready": 0, "terminating": 0, "succeeded": 1})
    assert not is_mere_readiness(said, {**said, "ready": 1, "conditions": []})
    assert not is_mere_readiness({}, {"ready": 1})
