"""The rules by which conditions of v1 jobs come, stay and go, and the laws that follow from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainshed.controllers.v1jobs import conditions
from trainshed.controllers.v1jobs.conditions import (
    CREATED,
    FAILED,
    RESTARTING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    put,
)
from trainshed.kube.objects import Object

NOW, LATER = "2026-11-16T12:00:00Z", "2026-11-16T12:00:09Z"


def said(type: str, status: str = "True", reason: str = "", message: str = "m") -> Object:
    return {"type": type, "status": status, "reason": reason or f"PyTorchJob{type}", "message": message}


def after(*wanted: Object) -> list[Object]:
    found: list[Object] = []
    for one in wanted:
        found = put(found, one, NOW)
    return found


def shape(found: list[Object]) -> list[tuple[str, str]]:
    return [(one["type"], one["status"]) for one in found]


def test_the_latest_news_comes_last() -> None:
    found = after(
        said(CREATED), said(RUNNING), said(SUSPENDED), said(RUNNING, "False", "PyTorchJobSuspended")
    )
    assert shape(found) == [(CREATED, "True"), (SUSPENDED, "True"), (RUNNING, "False")]


def test_the_same_status_and_reason_are_no_news_whatever_the_message() -> None:
    before = after(said(CREATED), said(RUNNING))
    assert put(before, said(RUNNING, message="other words"), LATER) == before


def test_another_reason_is_news_but_no_transition() -> None:
    [found] = put(after(said(RUNNING)), said(RUNNING, reason="Other"), LATER)
    assert (found["lastTransitionTime"], found["lastUpdateTime"]) == (NOW, LATER)


def test_case_15_running_and_restarting_exclude_each_other() -> None:
    again = after(said(CREATED), said(RUNNING), said(RESTARTING))
    assert shape(again) == [(CREATED, "True"), (RESTARTING, "True")]
    assert shape(put(again, said(RUNNING), LATER)) == [(CREATED, "True"), (RUNNING, "True")]


def test_an_end_leaves_running_behind_as_false_with_its_own_words_and_times() -> None:
    before = after(said(CREATED), said(RUNNING, message="it runs"))
    found = put(before, said(SUCCEEDED), LATER)
    assert found[1] == {**before[1], "status": "False"}
    assert shape(found)[-1] == (SUCCEEDED, "True")


def test_an_end_leaves_restarting_as_it_is() -> None:
    assert shape(after(said(RESTARTING), said(FAILED))) == [(RESTARTING, "True"), (FAILED, "True")]


def test_case_16_nothing_changes_once_a_job_has_failed() -> None:
    before = after(said(CREATED), said(FAILED))
    assert all(put(before, said(type), LATER) == before for type in (RUNNING, RESTARTING, SUCCEEDED, FAILED))


def test_a_failure_may_follow_a_success() -> None:
    assert shape(after(said(SUCCEEDED), said(FAILED))) == [(SUCCEEDED, "True"), (FAILED, "True")]


def test_what_is_said_as_before_keeps_its_times() -> None:
    before = after(said(CREATED), said(RESTARTING))
    flapped = put(put(before, said(RUNNING), LATER), said(RESTARTING), LATER)
    assert flapped != before
    assert conditions.steadied(before, flapped) == before


TYPES = [CREATED, RUNNING, RESTARTING, SUSPENDED, SUCCEEDED, FAILED]
updates = st.builds(
    said, st.sampled_from(TYPES), st.sampled_from(["True", "False"]), st.sampled_from(["", "Other"])
)


@given(st.lists(updates, max_size=12), updates)
def test_setting_a_condition_twice_is_setting_it_once(history: list[Object], wanted: Object) -> None:
    once = put(after(*history), wanted, LATER)
    assert put(once, wanted, "2027-01-01T00:00:00Z") == once


@given(st.lists(updates, max_size=12))
def test_a_type_is_never_there_twice_nor_running_beside_restarting(history: list[Object]) -> None:
    types = [one["type"] for one in after(*history)]
    assert len(types) == len(set(types))
    assert not {RUNNING, RESTARTING} <= set(types)


@given(st.lists(updates, max_size=12), updates)
def test_what_is_news_is_last_and_said_as_it_was_meant(history: list[Object], wanted: Object) -> None:
    before = after(*history)
    found = put(before, wanted, LATER)
    if found != before:
        assert {part: found[-1][part] for part in wanted} == wanted
        assert found[-1]["lastUpdateTime"] == LATER


@given(st.lists(updates, max_size=12), st.lists(updates, max_size=12))
def test_a_failure_is_the_last_word(history: list[Object], more: list[Object]) -> None:
    failed = put(after(*history), said(FAILED), NOW)
    assert after_from(failed, more) == failed


def after_from(found: list[Object], wanted: list[Object]) -> list[Object]:
    for one in wanted:
        found = put(found, one, LATER)
    return found
