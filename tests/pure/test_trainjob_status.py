"""The status of a TrainJob: upstream's conditions in upstream's order, ours only while they are true."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.pure.training_objects import a_replicated_job, a_runtime, a_trainjob
from trainshed.controllers.trainjob import lifetimes, snapshot, status, verdicts
from trainshed.kube.objects import JSON, Object, decode

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOW_TEXT, THEN_TEXT = "2026-01-01T00:00:00Z", "2025-12-31T00:00:00Z"


def a_jobset(type: str = "", **more: JSON) -> Object:
    done = {"type": type, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": THEN_TEXT}
    return {"status": {"conditions": [done] if type else [], **more}}


def types(found: Object) -> list[tuple[str, str]]:
    return [(condition["type"], condition["status"]) for condition in found.get("conditions", [])]


def with_status(job: Object, found: Object) -> Object:
    return {**job, "status": found}


def suspended_and_resumed() -> Object:
    first = status.suspension(a_trainjob(suspend=True), NOW)
    return status.suspension(with_status(a_trainjob(), first), NOW)


# --- conditions -------------------------------------------------------------------------------------------


def test_a_job_never_suspended_says_nothing_of_it() -> None:
    assert status.suspension(a_trainjob(), NOW) == {}


def test_suspending_and_resuming_are_told_in_upstreams_words() -> None:
    first = status.suspension(a_trainjob(suspend=True), NOW)
    (told,) = first["conditions"]
    assert (told["status"], told["reason"], told["message"]) == ("True", "Suspended", "TrainJob is suspended")
    (told,) = suspended_and_resumed()["conditions"]
    assert (told["status"], told["reason"], told["message"]) == ("False", "Resumed", "TrainJob is resumed")


def test_the_end_comes_after_the_suspension() -> None:
    found = status.mirrored(suspended_and_resumed(), a_jobset("Completed"), "", NOW)
    assert types(found) == [("Suspended", "False"), ("Complete", "True")]
    assert types(status.mirrored({}, a_jobset("Completed"), "", NOW)) == [("Complete", "True")]


@pytest.mark.parametrize("end", ["Completed", "Failed"])
def test_a_job_that_has_ended_is_not_suspended_any_more(end: str) -> None:
    over = status.mirrored({}, a_jobset(end), "", NOW)
    assert status.suspension(with_status(a_trainjob(suspend=True), over), NOW) == over


@pytest.mark.parametrize(("theirs", "ours"), [("Completed", "Complete"), ("Failed", "Failed")])
def test_the_end_is_the_jobsets_with_its_reason_and_time(theirs: str, ours: str) -> None:
    (told,) = status.mirrored({}, a_jobset(theirs), "", NOW)["conditions"]
    assert told == {
        "type": ours,
        "status": "True",
        "reason": "R",
        "message": "m",
        "lastTransitionTime": THEN_TEXT,
    }


def test_a_failure_says_what_began_it_and_never_forgets() -> None:
    first = status.mirrored({}, a_jobset("Failed"), "rank 1 of 2 exited 1", NOW)
    assert first["conditions"][0]["message"] == "m: rank 1 of 2 exited 1"
    assert status.mirrored(first, a_jobset("Failed"), "", NOW) == first
    assert status.mirrored({}, a_jobset("Completed"), "rank 1", NOW)["conditions"][0]["message"] == "m"


def test_counts_are_of_jobs_in_the_jobsets_order_and_may_fail_without_an_end() -> None:
    counts = [{"name": "node", "failed": 1, "active": 1}, {"name": "dataset-initializer", "succeeded": 1}]
    found = status.mirrored({}, a_jobset(replicatedJobsStatus=counts), "", NOW)
    assert [(each["name"], each["failed"], each["succeeded"]) for each in found["jobsStatus"]] == [
        ("node", 1, 0),
        ("dataset-initializer", 0, 1),
    ]
    assert types(found) == []


def test_progress_reported_by_others_is_kept() -> None:
    job = with_status(a_trainjob(), {"trainerStatus": {"progressPercentage": 5}})
    found = status.mirrored(status.suspension(job, NOW), a_jobset("Completed"), "", NOW)
    assert found["trainerStatus"] == {"progressPercentage": 5}


def test_without_a_jobset_the_status_stays() -> None:
    assert status.mirrored({"jobsStatus": [{"name": "node"}]}, None, "x", NOW) == {
        "jobsStatus": [{"name": "node"}]
    }


# --- verdicts ---------------------------------------------------------------------------------------------

WAITING = verdicts.waiting("Unschedulable", "needs cpu 9")
RESTARTING = verdicts.Verdict("Restarting", "JobSetRestarting", "restart 1 of 3")


def test_a_verdict_is_there_only_while_it_is_true() -> None:
    waits = status.judged({}, WAITING, NOW)
    assert types(waits) == [("Waiting", "True")]
    assert waits["conditions"][0]["message"] == "waiting: needs cpu 9"
    assert types(status.judged(waits, RESTARTING, NOW)) == [("Restarting", "True")]
    assert types(status.judged(waits, None, NOW)) == []


@pytest.mark.parametrize("end", ["Completed", "Failed"])
def test_a_finished_job_has_exactly_upstreams_conditions(end: str) -> None:
    waits = status.judged(suspended_and_resumed(), WAITING, NOW)
    found = status.judged(status.mirrored(waits, a_jobset(end), "", NOW), WAITING, NOW)
    assert [type for type, _ in types(found)] == ["Suspended", "Complete" if end == "Completed" else end]


def test_a_verdict_that_stays_keeps_its_time() -> None:
    waits = status.judged({}, WAITING, NOW)
    assert status.judged(waits, WAITING, NOW + timedelta(hours=1)) == waits


def test_new_verdicts_and_failures_are_news_and_old_ones_are_not() -> None:
    waits = status.judged({}, WAITING, NOW)
    assert [told["reason"] for told in status.news({}, waits)] == ["Unschedulable"]
    assert status.news(waits, waits) == []
    other = status.judged(waits, verdicts.waiting("Unschedulable", "needs cpu 8"), NOW)
    assert [told["message"] for told in status.news(waits, other)] == ["waiting: needs cpu 8"]
    done = status.mirrored({}, a_jobset("Completed"), "", NOW)
    assert status.news({}, done) == []


# --- deadlines --------------------------------------------------------------------------------------------


def a_job_of_yesterday(found: Object | None = None, **spec: JSON) -> Object:
    job = a_trainjob(**spec)
    job["metadata"]["creationTimestamp"] = THEN_TEXT
    return with_status(job, found or {})


def test_time_runs_from_creation_or_from_the_last_resumption() -> None:
    job = a_job_of_yesterday(activeDeadlineSeconds=60)
    assert lifetimes.deadline(job) == NOW - timedelta(days=1) + timedelta(seconds=60)
    resumed = with_status(job, suspended_and_resumed())
    assert lifetimes.deadline(resumed) == NOW + timedelta(seconds=60)
    not_yet_told = with_status(job, status.suspension(a_trainjob(suspend=True), NOW))
    assert lifetimes.deadline(not_yet_told) == lifetimes.deadline(job)


@pytest.mark.parametrize(
    "job",
    [
        a_job_of_yesterday(),
        a_job_of_yesterday(activeDeadlineSeconds=0),
        a_job_of_yesterday(activeDeadlineSeconds=1, suspend=True),
        a_job_of_yesterday(status.failed({}, "R", "m", NOW), activeDeadlineSeconds=1),
    ],
    ids=["none", "zero", "suspended", "finished"],
)
def test_no_deadline_no_end_no_limit(job: Object) -> None:
    assert lifetimes.deadline(job) is None


def test_being_overdue_is_told_in_upstreams_words() -> None:
    (told,) = status.overdue({}, NOW)["conditions"]
    assert (told["type"], told["reason"], told["message"]) == (
        "Failed",
        "DeadlineExceeded",
        "TrainJob exceeded its active deadline",
    )


# --- times to live ----------------------------------------------------------------------------------------


def a_finished_job(**spec: JSON) -> Object:
    return with_status(a_trainjob(**spec), status.failed({}, "R", "m", NOW))


def test_a_finished_job_goes_so_many_seconds_after_its_end() -> None:
    assert lifetimes.expiry(a_finished_job(ttlSecondsAfterFinished=5), 99) == NOW + timedelta(seconds=5)
    assert lifetimes.expiry(a_finished_job(), 99) == NOW + timedelta(seconds=99)
    assert lifetimes.expiry(a_finished_job(), None) is None
    assert lifetimes.expiry(a_trainjob(ttlSecondsAfterFinished=5), 99) is None


@pytest.mark.parametrize(("given", "seconds"), [("0", 0), ("60", 60), ("-1", 99), ("soon", 99), ("", 99)])
def test_the_annotation_does_the_same_as_the_field(given: str, seconds: int) -> None:
    job = a_finished_job()
    job["metadata"]["annotations"] = {"trainshed.dev/ttl-seconds-after-finished": given}
    assert lifetimes.expiry(job, 99) == NOW + timedelta(seconds=seconds)


def test_a_runtime_says_it_itself_or_in_its_templates() -> None:
    job = a_replicated_job(ancestor="trainer")
    runtime = a_runtime(a_replicated_job("other"), job)
    assert lifetimes.runtime_ttl(runtime) is None
    job["template"]["spec"]["ttlSecondsAfterFinished"] = 3
    assert lifetimes.runtime_ttl(runtime) == 3
    runtime["spec"]["template"]["spec"]["ttlSecondsAfterFinished"] = 2
    assert lifetimes.runtime_ttl(runtime) == 2
    runtime["spec"]["ttlSecondsAfterFinished"] = 0
    assert lifetimes.runtime_ttl(runtime) == 0


# --- snapshots --------------------------------------------------------------------------------------------


def a_stored_runtime() -> Object:
    runtime = a_runtime()
    return {**runtime, "apiVersion": "trainer.kubeflow.org/v1alpha1"}


def test_a_snapshot_gives_back_the_runtime() -> None:
    runtime = a_stored_runtime()
    runtime["metadata"]["managedFields"] = [{"manager": "m"}]
    kept = snapshot.make(a_trainjob("r"), runtime)
    assert kept["metadata"]["name"] == "t-runtime-snapshot"
    del runtime["metadata"]["managedFields"]
    assert snapshot.read(kept, a_trainjob("r")) == runtime
    assert decode(kept["data"]["runtime"].encode()) == runtime


def test_a_snapshot_written_as_yaml_is_read_too() -> None:
    kept = snapshot.make(a_trainjob("r"), a_stored_runtime())
    kept["data"]["runtime"] = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: r}\n"
    )
    assert snapshot.read(kept, a_trainjob("r"))["metadata"] == {"name": "r"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"metadata": {"name": "x", "ownerReferences": []}}, "owned by another object"),
        ({"data": {}}, 'missing "runtime" data key'),
        ({"data": {"runtime": "{: ["}}, "unable to unmarshal the snapshot"),
        (
            {"data": {"runtime": "kind: Pod"}},
            "refers to the wrong runtime: expecting ClusterTrainingRuntime.",
        ),
    ],
)
def test_a_snapshot_of_something_else_is_refused_in_words(change: Object, why: str) -> None:
    kept = {**snapshot.make(a_trainjob("r"), a_stored_runtime()), **change}
    with pytest.raises(snapshot.Unusable, match=why):
        snapshot.read(kept, a_trainjob("r"))
