"""Laws of lists: what is there throughout is on exactly one page, whatever comes and goes meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.backend import paging
from trainshed.backend.index import Index
from trainshed.backend.paging import Filter
from trainshed.backend.rows import Order
from trainshed.kube.objects import Object

EVERYTHING = Filter()


def a_job(number: int, second: int, namespace: str = "a", **labels: str) -> Object:
    meta = {
        "name": f"job-{number}",
        "namespace": namespace,
        "uid": f"uid-{number}",
        "resourceVersion": str(number + 1),
        "creationTimestamp": f"2026-01-01T00:00:{second:02}Z",
        "labels": labels,
    }
    return {"metadata": meta, "spec": {"runtimeRef": {"name": "torch-distributed"}}, "status": {}}


numbers = st.integers(0, 40)
changes = st.lists(st.tuples(st.booleans(), numbers, st.integers(0, 59)), max_size=12)


@given(
    st.dictionaries(numbers, st.integers(0, 59), max_size=25),
    st.lists(changes, max_size=8),
    st.integers(1, 7),
)
def test_a_job_that_is_there_throughout_is_on_exactly_one_page(
    at_first: dict[int, int], meanwhile: list[list[tuple[bool, int, int]]], limit: int
) -> None:
    index = Index()
    for number, second in at_first.items():
        index.learn(a_job(number, second))
    throughout = {f"uid-{number}" for number in at_first}
    seen: list[str] = []
    token, steps = "", iter(meanwhile)
    while True:
        page = index.page("a", EVERYTHING, token, limit)
        seen += [row.uid for row in page.rows]
        token = page.token
        if not token:
            break
        for comes, number, second in next(steps, []):
            known = index.of_uid(f"uid-{number}")
            if not comes and known is not None:
                index.forget(a_job(number, 0))
                throughout.discard(known.uid)
            elif comes and known is None and number not in at_first:
                index.learn(a_job(number, second))
    assert len(seen) == len(set(seen))
    assert throughout <= set(seen)


@given(st.dictionaries(numbers, st.integers(0, 59), max_size=30))
def test_pages_are_newest_first_and_count_everything(jobs: dict[int, int]) -> None:
    index = Index()
    for number, second in jobs.items():
        index.learn(a_job(number, second))
    page = index.page(None, EVERYTHING, "", 500)
    created = [row.created for row in page.rows]
    assert created == sorted(created, reverse=True)
    assert page.total == len(jobs) == len(index)


def test_filters_choose_and_count() -> None:
    index = Index()
    for number in range(10):
        index.learn(a_job(number, number, "a" if number < 8 else "b", team="x" if number % 2 else "y"))
    page = index.page("a", Filter(labels="team=x"), "", 2)
    assert [row.name for row in page.rows] == ["job-7", "job-5"]
    assert page.total == 4
    rest = index.page("a", Filter(labels="team=x"), page.token, 2)
    assert [row.name for row in rest.rows] == ["job-3", "job-1"]
    assert rest.token == ""
    assert index.page("a", Filter(name="b-3"), "", 5).total == 1
    assert index.page("a", Filter(state="Complete"), "", 5).total == 0


def test_a_filter_asked_again_sees_what_came_changed_and_went() -> None:
    index, wanted = Index(), Filter(labels="team=x")

    def found() -> list[str]:
        return [row.name for row in index.page("a", wanted, "", 9).rows]

    assert found() == []
    index.learn(a_job(1, 1, team="x"))
    index.learn(a_job(2, 2, team="y"))
    assert found() == found() == ["job-1"]
    moved = a_job(2, 2, team="x")
    moved["metadata"]["resourceVersion"] = "9"
    index.learn(moved)
    assert found() == ["job-2", "job-1"]
    index.forget(moved)
    assert found() == ["job-1"]


def test_a_token_of_another_list_is_refused() -> None:
    index = Index()
    for number in range(5):
        index.learn(a_job(number, number))
    token = index.page("a", EVERYTHING, "", 2).token
    with pytest.raises(paging.WrongToken, match="other filters"):
        index.page("b", EVERYTHING, token, 2)
    for text in ("x", "ü", token[:-3], "A" * 40):
        with pytest.raises(paging.WrongToken):
            index.page("a", EVERYTHING, text, 2)


@given(st.integers(-(2**40), 2**40), st.text(max_size=40), st.text(max_size=20))
def test_a_place_survives_being_written_down(age: int, uid: str, scope: str) -> None:
    assert paging.place(paging.token(Order(age, uid), scope), scope) == Order(age, uid)


def test_old_news_of_a_job_are_none() -> None:
    index = Index()
    newer = a_job(1, 1)
    newer["metadata"]["resourceVersion"] = "9"
    newer["status"] = {"conditions": [{"type": "Complete", "status": "True", "message": "done"}]}
    index.learn(newer)
    index.learn(a_job(1, 1))
    found = index.find("a", "job-1")
    assert found is not None
    assert found.phase == "Complete"


def test_a_deleted_job_does_not_come_back_with_late_news() -> None:
    index = Index()
    job = a_job(1, 0)
    index.learn(job)
    index.forget(job)
    index.learn(job)
    assert index.of_uid("uid-1") is None
    assert not index.page("a", EVERYTHING, "", 5).rows
