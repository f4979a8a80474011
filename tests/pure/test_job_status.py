"""What a Job's status says, before and after its finished pods are let go."""

from __future__ import annotations

from tests.pure.job_objects import NOW, a_job, a_pod, ago, an_indexed_job, seen
from trainshed.controllers.job import news, pods, status, suspension, tally, uncounted, verdict
from trainshed.controllers.job.counting import Count
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object

STAMP = timestamp(NOW)


def noted(job: Object, *given: Object) -> tuple[Object, Count]:
    found = seen(job, given)
    counted = tally.count(found)
    return status.noted(found, counted, verdict.judge(found, counted) or verdict.completed(found, counted))


def concluded(job: Object, *given: Object) -> Object:
    found = seen(job, given)
    return status.concluded(found, tally.count(found))


def types(said: Object) -> list[str]:
    return [condition["type"] for condition in said.get("conditions") or ()]


def uids(released: Count) -> list[str]:
    return [pods.uid_of(pod) for pod in released.released]


def test_running_pods_are_counted_by_how_far_they_are() -> None:
    job = a_job(parallelism=4, completions=4)
    said, _ = noted(job, a_pod(job, ready=True), a_pod(job), a_pod(job, leaving=True, tracked=False))
    assert (said["active"], said["ready"], said["terminating"]) == (2, 1, 1)
    assert "succeeded" not in said
    assert "failed" not in said
    assert said["uncountedTerminatedPods"] == {}


def test_finished_pods_are_noted_before_they_are_let_go() -> None:
    job = a_job(completions=5)
    said, count = noted(job, a_pod(job, "Succeeded", uid="a"), a_pod(job, "Failed", uid="b"))
    assert said["uncountedTerminatedPods"] == {"succeeded": ["a"], "failed": ["b"]}
    assert uids(count) == ["a", "b"]
    assert "succeeded" not in said


def test_a_noted_pod_is_let_go_again_but_not_noted_again() -> None:
    job = a_job({"uncountedTerminatedPods": {"failed": ["b"]}}, completions=5)
    said, count = noted(job, a_pod(job, "Failed", uid="b"))
    assert said["uncountedTerminatedPods"] == {"failed": ["b"]}
    assert uids(count) == ["b"]


def test_a_noted_pod_that_was_let_go_moves_to_its_counter() -> None:
    job = a_job({"failed": 1, "uncountedTerminatedPods": {"failed": ["b", "c"], "succeeded": ["d"]}})
    said = concluded(job, a_pod(job, "Failed", uid="c"), a_pod(job, "Succeeded", uid="d", tracked=False))
    assert (said["failed"], said["succeeded"]) == (2, 1)
    assert said["uncountedTerminatedPods"] == {"failed": ["c"]}


def test_a_succeeded_index_is_its_own_note() -> None:
    job = an_indexed_job(3)
    said, count = noted(job, a_pod(job, "Succeeded", index=1, uid="a"), a_pod(job, index=0))
    assert (said["completedIndexes"], said["succeeded"]) == ("1", 1)
    assert said["uncountedTerminatedPods"] == {}
    assert uids(count) == ["a"]


def test_pods_without_an_index_that_exists_are_let_go_uncounted() -> None:
    job = an_indexed_job(2)
    said, count = noted(job, a_pod(job, "Failed", index=7, uid="a"), a_pod(job, "Succeeded", uid="b"))
    assert said["uncountedTerminatedPods"] == {}
    assert uids(count) == ["a", "b"]


def test_ignored_failures_are_let_go_uncounted() -> None:
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}
    job = a_job(podFailurePolicy={"rules": [rule]})
    said, count = noted(job, a_pod(job, "Failed", uid="a", exit=1))
    assert said["uncountedTerminatedPods"] == {}
    assert uids(count) == ["a"]


def test_the_last_failed_pod_of_an_index_is_kept_until_it_has_a_successor() -> None:
    job = an_indexed_job(1, backoffLimitPerIndex=3)
    failed = a_pod(job, "Failed", index=0, failures=0, uid="a")
    assert uids(noted(job, failed)[1]) == []
    assert uids(noted(job, failed, a_pod(job, "Pending", index=0, failures=1))[1]) == ["a"]


def test_failed_indexes_are_shown_only_where_they_are_counted() -> None:
    job = an_indexed_job(3, backoffLimitPerIndex=0)
    assert noted(job)[0]["failedIndexes"] == ""
    assert noted(job, a_pod(job, "Failed", index=2, failures=0))[0]["failedIndexes"] == "2"
    assert "failedIndexes" not in noted(an_indexed_job(3))[0]


def test_not_more_notes_are_written_than_a_status_should_hold() -> None:
    job = a_job(completions=2000, parallelism=2000, backoffLimit=5000)
    said, count = noted(job, *(a_pod(job, "Failed") for _ in range(uncounted.MOST + 9)))
    assert len(said["uncountedTerminatedPods"]["failed"]) == len(count.released) == uncounted.MOST


# --- the end ------------------------------------------------------------------------------------------------


def test_an_end_is_announced_first_and_reached_when_all_is_quiet() -> None:
    job = a_job(backoffLimit=0)
    failed = a_pod(job, "Failed", uid="a")
    said, _ = noted(job, failed)
    assert types(said) == ["FailureTarget"]
    job = {**job, "status": said}
    assert types(concluded(job, failed)) == ["FailureTarget"]
    failed["metadata"]["finalizers"] = []
    over = concluded(job, failed)
    assert types(over) == ["FailureTarget", "Failed"]
    assert over["failed"] == 1
    assert "completionTime" not in over


def test_pods_that_are_still_leaving_delay_the_end() -> None:
    job = a_job({"conditions": [{"type": "FailureTarget", "status": "True", "reason": "R", "message": "m"}]})
    assert types(concluded(job, a_pod(job, leaving=True, tracked=False))) == ["FailureTarget"]
    assert types(concluded(job)) == ["FailureTarget", "Failed"]


def test_a_complete_job_has_a_time_of_completion() -> None:
    job = a_job({"startTime": ago(9)})
    done = a_pod(job, "Succeeded", uid="a")
    job["status"], _ = noted(job, done)
    done["metadata"]["finalizers"] = []
    over = concluded(job, done)
    assert types(over) == ["SuccessCriteriaMet", "Complete"]
    assert over["conditions"][1] == {
        "type": "Complete", "status": "True", "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
        "lastProbeTime": STAMP, "lastTransitionTime": STAMP,
    }  # fmt: skip
    assert over["completionTime"] == STAMP
    assert over["succeeded"] == 1


def test_pods_deleted_with_a_failed_job_have_failed_with_it() -> None:
    job = a_job(backoffLimit=0, podReplacementPolicy="Failed", completions=2, parallelism=2)
    said, count = noted(job, a_pod(job, "Failed", uid="a"), a_pod(job, uid="b", leaving=True))
    assert said["uncountedTerminatedPods"]["failed"] == ["a", "b"]
    assert uids(count) == ["a", "b"]


def test_pods_deleted_with_a_successful_job_have_not_failed() -> None:
    rules = [{"succeededIndexes": "0"}]
    job = an_indexed_job(2, successPolicy={"rules": rules})
    job["status"], _ = noted(job, a_pod(job, "Succeeded", index=0, uid="a"), a_pod(job, index=1))
    said, count = noted(
        job, a_pod(job, "Succeeded", index=0, uid="a"), a_pod(job, index=1, uid="b", leaving=True)
    )
    assert types(said) == ["SuccessCriteriaMet"]
    assert said["uncountedTerminatedPods"] == {}
    assert uids(count) == ["a", "b"]


def test_pods_that_run_are_not_let_go_before_they_are_deleted() -> None:
    job = a_job(backoffLimit=0, completions=2, parallelism=2)
    assert uids(noted(job, a_pod(job, "Failed", uid="a"), a_pod(job, uid="b"))[1]) == ["a"]


def test_a_leaving_job_lets_all_its_pods_go() -> None:
    job = a_job()
    job["metadata"]["deletionTimestamp"] = STAMP
    said, count = noted(job, a_pod(job, uid="a"))
    assert uids(count) == ["a"]
    assert said["uncountedTerminatedPods"] == {}


# --- start and pause ----------------------------------------------------------------------------------------


def test_a_job_starts_when_it_is_first_seen_unless_suspended() -> None:
    assert status.begun({}, suspend=False, now=STAMP) == {"startTime": STAMP}
    assert status.begun({"startTime": ago(9)}, suspend=False, now=STAMP) == {"startTime": ago(9)}
    assert status.begun({}, suspend=True, now=STAMP) == {}


def test_a_paused_job_has_no_start_and_a_resumed_one_a_new_one() -> None:
    paused = suspension.applied({"startTime": ago(99)}, suspend=True, now=STAMP)
    assert "startTime" not in paused
    assert [(item["type"], item["status"], item["reason"]) for item in paused["conditions"]] == [
        ("Suspended", "True", "JobSuspended")
    ]
    resumed = suspension.applied(paused, suspend=False, now=STAMP)
    assert resumed["startTime"] == STAMP
    assert (resumed["conditions"][0]["status"], resumed["conditions"][0]["message"]) == (
        "False",
        "Job resumed",
    )
    assert suspension.applied(resumed, suspend=False, now=ago(0)) == resumed


def test_a_job_that_was_never_paused_says_nothing_about_it() -> None:
    assert suspension.applied({}, suspend=False, now=STAMP) == {}


# --- news ---------------------------------------------------------------------------------------------------


def told(before: Object, after: Object) -> list[str]:
    return [f"{item.type} {item.reason}: {item.message}" for item in news.told(before, after, 1)]


def test_pausing_resuming_and_ending_are_news_once() -> None:
    paused = suspension.applied({}, suspend=True, now=STAMP)
    resumed = suspension.applied(paused, suspend=False, now=STAMP)
    assert told({}, paused) == ["Normal Suspended: Job suspended"]
    assert told(paused, resumed) == ["Normal Resumed: Job resumed"]
    assert told(paused, paused) == []
    over = {"succeeded": 2, "conditions": [{"type": "Complete", "status": "True"}]}
    assert told({}, over) == [
        "Warning TooManySucceededPods: Too many succeeded pods running after completion count reached",
        "Normal Completed: Job completed",
    ]
    lost = {"conditions": [{"type": "Failed", "status": "True", "reason": "R", "message": "why"}]}
    assert told({}, lost) == ["Warning R: why"]
    assert told({}, {"conditions": [{"type": "FailureTarget", "status": "True"}]}) == []
