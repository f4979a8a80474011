"""One policy of a Job at a time: failures, successes, deadlines, ttl, back-off, restarts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.pure.job_objects import NOW, a_job, a_pod, ago, an_indexed_job
from trainshed.controllers.job import backoff, deadline, failure_policy, restarts, specs, success_policy, ttl
from trainshed.controllers.job.backoff import Pace
from trainshed.kube.objects import JSON, Object

PACE = Pace(first=10.0, longest=600.0)


# --- podFailurePolicy ---------------------------------------------------------------------------------------


def on_codes(action: str, operator: str, *values: int, **more: JSON) -> Object:
    return {"action": action, "onExitCodes": {"operator": operator, "values": [*values], **more}}


def on_condition(action: str, type: str, status: str = "True") -> Object:
    return {"action": action, "onPodConditions": [{"type": type, "status": status}]}


def matched(rules: list[Object], pod: Object) -> failure_policy.Match:
    policy = specs.read(a_job(podFailurePolicy={"rules": rules})).pod_failure_policy
    return failure_policy.match(policy, pod)


FAILED = a_pod(a_job(), "Failed", uid="x", exit=42)


@pytest.mark.parametrize(
    ("rule", "action"),
    [
        (on_codes("FailJob", "In", 1, 42), "FailJob"),
        (on_codes("FailJob", "In", 1), "Count"),
        (on_codes("Ignore", "NotIn", 1), "Ignore"),
        (on_codes("Ignore", "NotIn", 42), "Count"),
        (on_codes("FailIndex", "In", 42, containerName="main"), "FailIndex"),
        (on_codes("FailJob", "In", 42, containerName="other"), "Count"),
        (on_codes("FailJob", "Near", 42), "Count"),
    ],
)
def test_a_rule_asks_for_exit_codes(rule: Object, action: str) -> None:
    assert matched([rule], FAILED).action == action


def test_the_first_rule_that_fits_decides() -> None:
    rules = [on_codes("Ignore", "In", 42), on_codes("FailJob", "In", 42)]
    assert matched(rules, FAILED).action == "Ignore"


def test_success_fits_no_rule_and_neither_does_what_still_runs() -> None:
    assert not matched([on_codes("FailJob", "NotIn", 1)], a_pod(a_job(), "Failed", exit=0)).fails_job
    assert not matched([on_codes("FailJob", "NotIn", 1)], a_pod(a_job(), "Running")).fails_job


def test_init_containers_are_asked_after_the_others() -> None:
    pod = a_pod(a_job(), "Failed", uid="x", exit=0)
    terminated = {"terminated": {"exitCode": 3}}
    pod["status"]["initContainerStatuses"] = [{"name": "fetch", "state": terminated}]
    found = matched([on_codes("FailJob", "In", 3)], pod)
    assert found.message.startswith("Container fetch for pod team/train-x failed with exit code 3")


def test_a_rule_may_ask_for_conditions_instead() -> None:
    pod = a_pod(a_job(), "Failed", uid="x", conditions=[{"type": "DisruptionTarget", "status": "True"}])
    assert matched([on_condition("Ignore", "DisruptionTarget")], pod).action == "Ignore"
    assert matched([on_condition("Ignore", "DisruptionTarget", "False")], pod).counts


def test_the_messages_are_upstreams() -> None:
    rules = [on_codes("Count", "In", 1), on_codes("FailJob", "In", 42)]
    said = "Container main for pod team/train-x failed with exit code 42 matching FailJob rule at index 1"
    assert matched(rules, FAILED).message == said
    pod = a_pod(a_job(), "Failed", uid="x", conditions=[{"type": "Bad", "status": "True"}])
    said = "Pod team/train-x has condition Bad matching FailJob rule at index 0"
    assert matched([on_condition("FailJob", "Bad")], pod).message == said


def test_without_a_policy_every_failure_counts() -> None:
    assert failure_policy.match(None, FAILED).counts


# --- successPolicy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "succeeded", "message"),
    [
        ([{"succeededIndexes": "0"}], {0}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0,2-3"}], {0, 2}, ""),
        ([{"succeededIndexes": "0,2-3"}], {0, 1, 2, 3}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0-3", "succeededCount": 2}], {1, 3}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0-3", "succeededCount": 2}], {1, 4}, ""),
        ([{"succeededCount": 2}], {4}, ""),
        ([{"succeededCount": 2}], {4, 1}, "Matched rules at index 0"),
        ([{"succeededIndexes": "4"}, {"succeededCount": 1}], {0}, "Matched rules at index 1"),
        ([{"succeededIndexes": "oops"}], {0}, ""),
        ([{"succeededCount": 0}], set(), ""),
    ],
)
def test_a_success_rule_names_indexes_a_number_or_both(
    rules: list[Object], succeeded: set[int], message: str
) -> None:
    spec = specs.read(an_indexed_job(5, successPolicy={"rules": rules}))
    assert success_policy.met(spec, frozenset(succeeded)) == message


def test_a_job_without_a_success_policy_meets_none() -> None:
    assert success_policy.met(specs.read(an_indexed_job(5)), frozenset({0})) == ""


# --- activeDeadlineSeconds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "started", "left"),
    [
        ({"activeDeadlineSeconds": 30}, ago(10), 20),
        ({"activeDeadlineSeconds": 30}, ago(40), -10),
        ({"activeDeadlineSeconds": 30}, None, None),
        ({"activeDeadlineSeconds": 30, "suspend": True}, ago(40), None),
        ({}, ago(40), None),
    ],
)
def test_a_deadline_runs_from_the_start_and_not_while_suspended(
    spec: Object, started: str | None, left: float | None
) -> None:
    assert deadline.seconds_left(specs.read(a_job(**spec)), started, NOW) == left


# --- ttlSecondsAfterFinished --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "end", "left"),
    [(60, "Complete", 50), (5, "Failed", -5), (0, "Complete", -10), (None, "Complete", None), (60, "", None)],
)
def test_a_finished_job_stays_as_long_as_it_should(given: int | None, end: str, left: float | None) -> None:
    said = [{"type": end or "Suspended", "status": "True", "lastTransitionTime": ago(10)}]
    job = a_job({"conditions": said}, ttlSecondsAfterFinished=given)
    assert ttl.seconds_left(job, specs.read(job), NOW) == left


# --- back-off -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "since", "left"),
    [(0, 0, 0), (1, 0, 10), (1, 4, 6), (1, 10, 0), (2, 0, 20), (3, 0, 40), (7, 0, 600), (40, 0, 600)],
)
def test_each_failure_doubles_the_wait_up_to_a_limit(failures: int, since: float, left: float) -> None:
    last = (NOW - timedelta(seconds=since)).timestamp()
    assert backoff.wait_left(failures, last, PACE, NOW) == pytest.approx(left)


def test_only_failures_after_the_last_success_count() -> None:
    job = a_job()
    finished = [
        a_pod(job, "Failed", ended=90),
        a_pod(job, "Failed", ended=80, tracked=False),
        a_pod(job, "Succeeded", ended=50),
        a_pod(job, "Failed", ended=2),
    ]
    assert backoff.seconds_left(finished, specs.read(job), PACE, NOW) == 8
    assert backoff.seconds_left(finished[:3], specs.read(job), PACE, NOW) == 0


def test_a_pod_we_let_go_ourselves_makes_nobody_wait() -> None:
    job = a_job()
    let_go = a_pod(job, "Running", leaving=True, tracked=False)
    assert backoff.seconds_left([let_go], specs.read(job), PACE, NOW) == 0
    assert backoff.seconds_left([a_pod(job, "Running", leaving=True)], specs.read(job), PACE, NOW) > 0


# --- restarts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "counts", "too_many"),
    [
        (0, (0, 0), False),
        (0, (1, 0), True),
        (1, (1, 0), True),
        (6, (5, 0), False),
        (6, (3, 3), True),
        (6, (7, 0), True),
    ],
)
def test_restarts_over_all_living_pods_end_a_job_at_its_limit(
    limit: int, counts: tuple[int, ...], too_many: bool
) -> None:
    living = [a_pod(a_job(), restarts=number) for number in counts]
    assert restarts.exceed(limit, living) is too_many


def test_restarts_of_init_containers_count_and_those_of_finished_pods_do_not() -> None:
    pod = a_pod(a_job(), "Pending")
    pod["status"]["initContainerStatuses"] = [{"name": "fetch", "restartCount": 2}]
    assert restarts.exceed(2, [pod])
    assert not restarts.exceed(2, [a_pod(a_job(), "Failed", restarts=9)])
