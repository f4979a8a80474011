"""Whether a Job is over, and which of several reasons is given."""

from __future__ import annotations

from tests.pure.job_objects import a_job, a_pod, ago, an_indexed_job, judged, seen
from trainshed.controllers.job import tally, verdict
from trainshed.controllers.job.verdict import Verdict
from trainshed.kube.objects import JSON, Object

BACKOFF = Verdict("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE = Verdict("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
TOO_MANY_INDEXES = Verdict(
    "Failed", "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)
FAILED_INDEXES = Verdict("Failed", "FailedIndexes", "Job has failed indexes")
REACHED = Verdict("Complete", "CompletionsReached", "Reached expected number of succeeded pods")


def completed(job: Object, *pods: Object) -> Verdict | None:
    found = seen(job, pods)
    return verdict.completed(found, tally.count(found))


def said(type: str, reason: str = "R", message: str = "m") -> list[JSON]:
    return [{"type": type, "status": "True", "reason": reason, "message": message}]


# --- failures -----------------------------------------------------------------------------------------------


def test_a_job_survives_as_many_failures_as_its_limit() -> None:
    job = a_job({"failed": 1}, backoffLimit=2)
    assert judged(job, [a_pod(job, "Failed")]) is None
    assert judged(job, [a_pod(job, "Failed"), a_pod(job, "Failed")]) == BACKOFF


def test_failures_that_are_noted_count_and_those_without_finalizer_were_counted() -> None:
    job = a_job({"failed": 1, "uncountedTerminatedPods": {"failed": ["a"]}}, backoffLimit=2)
    noted, counted = a_pod(job, "Failed", uid="a"), a_pod(job, "Failed", tracked=False)
    assert judged(job, [noted, counted]) is None
    assert judged(job, [noted, counted, a_pod(job, "Failed")]) == BACKOFF


def test_failures_a_policy_ignores_do_not_count() -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}
    job = a_job(backoffLimit=0, podFailurePolicy={"rules": [rule]})
    assert judged(job, [a_pod(job, "Failed", exit=7)]) is None
    assert judged(job, [a_pod(job, "Failed", exit=8)]) == BACKOFF


def test_restarts_in_place_end_a_job_only_where_its_pods_restart_in_place() -> None:
    for restart, expected in (("OnFailure", BACKOFF), ("Never", None)):
        job = a_job(restart=restart, backoffLimit=6)
        assert judged(job, [a_pod(job, restarts=6)]) == expected


def test_a_policy_that_fails_the_job_comes_before_the_limit() -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    job = a_job(backoffLimit=0, podFailurePolicy={"rules": [rule]})
    found = judged(job, [a_pod(job, "Failed", exit=42)])
    assert found is not None
    assert found.reason == "PodFailurePolicy"
    assert "exit code 42" in found.message


def test_the_limit_comes_before_the_deadline() -> None:
    job = a_job({"startTime": ago(100)}, backoffLimit=0, activeDeadlineSeconds=10)
    assert judged(job, [a_pod(job)]) == DEADLINE
    assert judged(job, [a_pod(job, "Failed")]) == BACKOFF


def test_a_job_with_failed_indexes_runs_the_others_to_their_end() -> None:
    job = an_indexed_job(2, backoffLimitPerIndex=0)
    failed = a_pod(job, "Failed", index=0, failures=0)
    assert judged(job, [failed, a_pod(job, index=1)]) is None
    assert judged(job, [failed, a_pod(job, "Succeeded", index=1)]) == FAILED_INDEXES


def test_too_many_failed_indexes_end_it_at_once() -> None:
    job = an_indexed_job(3, backoffLimitPerIndex=0, maxFailedIndexes=1)
    pods = [a_pod(job, "Failed", index=index, failures=0) for index in range(2)] + [a_pod(job, index=2)]
    assert judged(job, pods[:1] + pods[2:]) is None
    assert judged(job, pods) == TOO_MANY_INDEXES


# --- successes ----------------------------------------------------------------------------------------------


def test_a_success_policy_ends_a_job_whose_other_pods_still_run() -> None:
    job = an_indexed_job(2, successPolicy={"rules": [{"succeededIndexes": "0"}]})
    found = judged(job, [a_pod(job, "Succeeded", index=0), a_pod(job, index=1)])
    assert found == Verdict("Complete", "SuccessPolicy", "Matched rules at index 0")


def test_failures_are_asked_for_before_successes() -> None:
    job = an_indexed_job(2, backoffLimit=0, successPolicy={"rules": [{"succeededIndexes": "0"}]})
    assert judged(job, [a_pod(job, "Succeeded", index=0), a_pod(job, "Failed", index=1)]) == BACKOFF


def test_a_job_is_complete_when_enough_succeeded_and_nothing_runs() -> None:
    job = a_job({"succeeded": 1}, completions=2)
    done = a_pod(job, "Succeeded")
    assert completed(job, done) == REACHED
    assert completed(job, done, a_pod(job)) is None
    assert completed(job) is None


def test_an_indexed_job_needs_every_index_once() -> None:
    job = an_indexed_job(2)
    twice = [a_pod(job, "Succeeded", index=0), a_pod(job, "Succeeded", index=0)]
    assert completed(job, *twice) is None
    assert completed(job, *twice, a_pod(job, "Succeeded", index=1)) == REACHED


def test_without_completions_one_success_is_enough_once_the_others_ended() -> None:
    job = a_job(parallelism=2)
    assert job["spec"].get("completions") is None
    assert completed(job, a_pod(job, "Succeeded"), a_pod(job)) is None
    assert completed(job, a_pod(job, "Succeeded"), a_pod(job, "Failed")) == REACHED
    assert completed(job) is None


def test_no_completions_are_reached_at_once() -> None:
    assert completed(a_job(completions=0)) == REACHED


# --- what was said stands -----------------------------------------------------------------------------------


def test_an_announced_failure_stands_whatever_happens_then() -> None:
    job = a_job({"conditions": said("FailureTarget", "DeadlineExceeded", "late")})
    assert judged(job, [a_pod(job, "Succeeded")]) == Verdict("Failed", "DeadlineExceeded", "late")


def test_an_announced_success_stands_whatever_happens_then() -> None:
    job = a_job({"conditions": said("SuccessCriteriaMet")}, backoffLimit=0)
    assert judged(job, [a_pod(job, "Failed")]) == Verdict("Complete", "R", "m")
