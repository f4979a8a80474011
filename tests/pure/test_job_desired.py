"""Which pods of a Job come and which go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.pure.job_objects import a_job, a_pod, an_indexed_job, seen
from trainshed.controllers.job import desired, tally, verdict
from trainshed.controllers.job.desired import Plan
from trainshed.controllers.job.specs import INDEX, INDEX_FAILURES, INDEX_IGNORED_FAILURES
from trainshed.kube.objects import Object


def planned(job: Object, *pods: Object) -> Plan:
    found = seen(job, pods)
    counted = tally.count(found)
    return desired.plan(found, counted, verdict.judge(found, counted))


def indexes(made: Sequence[Object]) -> list[str]:
    return [pod["metadata"]["annotations"][INDEX] for pod in made]


@pytest.mark.parametrize(
    ("spec", "status", "active", "made"),
    [
        ({"completions": 5, "parallelism": 2}, {}, 0, 2),
        ({"completions": 5, "parallelism": 2}, {}, 1, 1),
        ({"completions": 5, "parallelism": 2}, {"succeeded": 4}, 0, 1),
        ({"completions": 5, "parallelism": 2}, {"succeeded": 5}, 0, 0),
        ({"completions": 5, "parallelism": 0}, {}, 0, 0),
        ({"completions": 5, "parallelism": 9}, {}, 0, 5),
        ({"parallelism": 3}, {}, 1, 2),
        ({"parallelism": 3}, {"succeeded": 1}, 1, 0),
        ({"completions": 0}, {}, 0, 0),
        ({"completions": 2000, "parallelism": 2000}, {}, 0, 500),
    ],
)
def test_as_many_pods_run_as_may_and_are_needed(spec: Object, status: Object, active: int, made: int) -> None:
    job = a_job(status, **spec)
    assert len(planned(job, *(a_pod(job) for _ in range(active))).create) == made


def test_the_lowest_missing_indexes_come_first() -> None:
    job = an_indexed_job(6, {"completedIndexes": "0", "succeeded": 1}, parallelism=4)
    assert indexes(planned(job, a_pod(job, index=2)).create) == ["1", "3", "4"]


def test_an_index_that_just_succeeded_is_not_run_again() -> None:
    job = an_indexed_job(2)
    assert indexes(planned(job, a_pod(job, "Succeeded", index=0)).create) == ["1"]


def test_a_failed_pod_is_replaced_after_a_while() -> None:
    job = a_job()
    assert planned(job, a_pod(job, "Failed", ended=4)) == Plan(wait=6)
    assert len(planned(job, a_pod(job, "Failed", ended=11)).create) == 1


def test_a_leaving_pod_is_replaced_at_once_or_when_it_ended() -> None:
    leaving: Object = {"leaving": True, "ended": 60}
    job = a_job()
    assert len(planned(job, a_pod(job, **leaving)).create) == 1
    job = a_job(podReplacementPolicy="Failed")
    assert planned(job, a_pod(job, **leaving)) == Plan()
    job = an_indexed_job(2, podReplacementPolicy="Failed")
    assert indexes(planned(job, a_pod(job, index=0, **leaving)).create) == ["1"]


# --- too many -----------------------------------------------------------------------------------------------


def test_the_least_advanced_pods_go_when_there_are_too_many() -> None:
    job = a_job(completions=5, parallelism=1)
    running, pending = a_pod(job, "Running", node="n"), a_pod(job, "Pending")
    assert planned(job, running, pending) == Plan(drop=(pending,))


def test_of_two_pods_with_one_index_the_more_advanced_stays() -> None:
    job = an_indexed_job(2)
    first, second = a_pod(job, "Pending", index=0), a_pod(job, "Running", index=0, node="n")
    assert planned(job, first, second) == Plan(drop=(first,))


def test_pods_without_an_index_that_exists_go() -> None:
    job = an_indexed_job(1)
    good, high, none = a_pod(job, index=0), a_pod(job, index=1), a_pod(job)
    assert {pod["metadata"]["uid"] for pod in planned(job, good, high, none).drop} == {
        high["metadata"]["uid"],
        none["metadata"]["uid"],
    }


# --- pausing and ending -------------------------------------------------------------------------------------


def test_a_suspended_job_lets_its_pods_go_uncounted() -> None:
    job = a_job(suspend=True)
    pod = a_pod(job)
    assert planned(job, pod, a_pod(job, "Succeeded", tracked=False)) == Plan(drop=(pod,))


def test_a_job_that_is_over_deletes_what_still_runs() -> None:
    job = a_job(backoffLimit=0, parallelism=2, completions=2)
    running = a_pod(job)
    assert planned(job, running, a_pod(job, "Failed")) == Plan(delete=(running,))


def test_a_leaving_job_makes_no_pods() -> None:
    job = a_job()
    job["metadata"]["deletionTimestamp"] = "2026-11-15T12:00:00Z"
    assert planned(job) == Plan()


# --- index by index -----------------------------------------------------------------------------------------


def test_a_failed_index_hands_its_count_to_the_next_pod() -> None:
    job = an_indexed_job(1, backoffLimitPerIndex=3)
    first = planned(job).create[0]
    assert first["metadata"]["annotations"][INDEX_FAILURES] == "0"
    after = planned(job, a_pod(job, "Failed", index=0, failures=1, ended=100)).create[0]
    assert after["metadata"]["annotations"][INDEX_FAILURES] == "2"


def test_an_ignored_failure_is_handed_on_apart() -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}
    job = an_indexed_job(1, backoffLimitPerIndex=3, podFailurePolicy={"rules": [rule]})
    notes = planned(job, a_pod(job, "Failed", index=0, failures=1, ended=100)).create[0]["metadata"][
        "annotations"
    ]
    assert (notes[INDEX_FAILURES], notes[INDEX_IGNORED_FAILURES]) == ("1", "1")


def test_an_index_waits_for_itself_only() -> None:
    job = an_indexed_job(3, backoffLimitPerIndex=3)
    early = a_pod(job, "Failed", index=0, failures=0, ended=4)
    plan = planned(job, early, a_pod(job, "Failed", index=1, failures=0, ended=11))
    assert indexes(plan.create) == ["1", "2"]
    assert plan.wait == 6


def test_an_index_that_failed_too_often_or_by_rule_is_not_run_again() -> None:
    job = an_indexed_job(3, backoffLimitPerIndex=1)
    plan = planned(job, a_pod(job, "Failed", index=0, failures=1, ended=99))
    assert indexes(plan.create) == ["1", "2"]
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [9]}}
    job = an_indexed_job(3, backoffLimitPerIndex=5, podFailurePolicy={"rules": [rule]})
    plan = planned(job, a_pod(job, "Failed", index=1, failures=0, exit=9, ended=99))
    assert indexes(plan.create) == ["0", "2"]
