"""The policies of the JobSet controller, each as a table."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.pure.jobset_world import START, World, a_rjob, depends
from trainshed.controllers.jobset import attempts, dependencies, replicated, startup, success, ttl
from trainshed.controllers.jobset.counts import Count
from trainshed.controllers.jobset.status import Draft
from trainshed.kinds.jobset import labels
from trainshed.kube.objects import Object

NOW = "2026-11-15T12:00:00Z"


# --- success ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "targets", "succeeded", "met"),
    [
        ("All", [], {}, False),
        ("All", [], {"a": 2}, False),
        ("All", [], {"a": 2, "b": 1}, True),
        ("All", ["b"], {"a": 2}, False),
        ("All", ["b"], {"b": 1}, True),
        ("All", ["a"], {"a": 1, "b": 1}, False),
        ("Any", [], {"a": 1}, True),
        ("Any", ["b"], {"a": 2}, False),
        ("Any", ["b"], {"b": 1}, True),
        ("Any", [], {}, False),
    ],
)
def test_success_needs_enough_jobs_of_the_targets(
    operator: str, targets: list[str], succeeded: dict[str, int], met: bool
) -> None:
    policy = {"operator": operator, "targetReplicatedJobs": targets}
    jobset = World(a_rjob("a", 2), a_rjob("b"), successPolicy=policy).jobset
    jobs = [_job_of(name) for name, count in succeeded.items() for _ in range(count)]
    assert success.is_met(jobset, replicated.of(jobset), jobs) is met


def _job_of(name: str) -> Object:
    return {"metadata": {"labels": {labels.REPLICATED_JOB: name}}}


# --- dependencies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "count", "met"),
    [
        ("Ready", Count(), False),
        ("Ready", Count(ready=2), False),
        ("Ready", Count(ready=3), True),
        ("Ready", Count(ready=1, succeeded=1, failed=1), True),
        ("Ready", Count(failed=3), True),
        ("Ready", Count(active=3), False),
        ("Complete", Count(ready=3), False),
        ("Complete", Count(succeeded=2, failed=1), False),
        ("Complete", Count(succeeded=3), True),
    ],
)
def test_a_dependency_holds_when_all_its_jobs_have_come_so_far(status: str, count: Count, met: bool) -> None:
    waiting = replicated.of(World(a_rjob("a", 3), a_rjob("b", dependsOn=depends(("a", status)))).jobset)[1]
    assert dependencies.are_met(waiting, {"a": 3, "b": 1}, {"a": count, "b": Count()}) is met


def test_a_dependency_on_an_unknown_job_never_holds() -> None:
    waiting = replicated.of(World(a_rjob("a", dependsOn=depends(("z", "Ready")))).jobset)[0]
    assert not dependencies.are_met(waiting, {"a": 1}, {"a": Count()})


def test_dependencies_begin_anew_after_a_restart() -> None:
    second = a_rjob("b", dependsOn=depends(("a", "Complete")))
    world = World(a_rjob("a"), second, failurePolicy={"maxRestarts": 1}).settle()
    world.succeed("js-a-0").settle().fail("js-b-0").settle()
    assert world.attempts() == {"js-a-0": 1}
    assert world.succeed("js-a-0").settle().attempts() == {"js-a-0": 1, "js-b-0": 1}


def test_a_completed_dependency_stays_so_over_suspension() -> None:
    second = a_rjob("b", dependsOn=depends(("a", "Complete")))
    world = World(a_rjob("a"), second).settle().succeed("js-a-0").settle()
    world.suspend().settle().suspend(False).settle()
    assert {name: job["spec"]["suspend"] for name, job in world.jobs.items()} == {
        "js-a-0": False,
        "js-b-0": False,
    }


# --- startup ----------------------------------------------------------------------------------------------

IN_ORDER = {"startupPolicyOrder": "InOrder"}


@pytest.mark.parametrize(
    ("count", "started"),
    [(Count(), False), (Count(ready=1), False), (Count(ready=1, failed=1), True), (Count(succeeded=2), True)],
)
def test_a_replicated_job_has_started_when_all_its_jobs_have(count: Count, started: bool) -> None:
    job = replicated.of(World(a_rjob("a", 2)).jobset)[0]
    assert startup.has_started(job, {"a": count}) is started


def test_in_order_means_one_replicated_job_after_the_other() -> None:
    world = World(a_rjob("a", 2), a_rjob("b"), a_rjob("c"), startupPolicy=IN_ORDER).settle()
    assert set(world.jobs) == {"js-a-0", "js-a-1"}
    said = "in order startup policy is in progress"
    assert world.condition("StartupPolicyInProgress") == ("True", "InOrderStartupPolicyInProgress", said)
    assert set(world.run().settle().jobs) == {"js-a-0", "js-a-1", "js-b-0"}
    world.run().settle().run().settle()
    assert set(world.jobs) == {"js-a-0", "js-a-1", "js-b-0", "js-c-0"}
    said = "in order startup policy has completed"
    assert world.condition("StartupPolicyCompleted") == ("True", "InOrderStartupPolicyCompleted", said)
    assert world.condition("StartupPolicyInProgress")[0] == "False"  # type: ignore[index]


def test_a_suspended_jobset_in_order_has_all_jobs_and_wakes_them_one_after_the_other() -> None:
    world = World(a_rjob("a"), a_rjob("b"), startupPolicy=IN_ORDER, suspend=True).settle()
    assert {name: job["spec"]["suspend"] for name, job in world.jobs.items()} == {
        "js-a-0": True,
        "js-b-0": True,
    }
    world.suspend(False).settle()
    assert [job["spec"]["suspend"] for job in world.jobs.values()] == [False, True]
    assert world.condition("Suspended")[0] == "True"  # type: ignore[index]
    world.run().settle()
    assert [job["spec"]["suspend"] for job in world.jobs.values()] == [False, False]
    world.run().settle()
    assert world.condition("Suspended") == ("False", "ResumeJobs", "jobset is resumed")


def test_the_order_begins_anew_after_a_restart() -> None:
    jobs = a_rjob("a"), a_rjob("b")
    world = World(*jobs, startupPolicy=IN_ORDER, failurePolicy={"maxRestarts": 1}).settle()
    world.run().settle().run().settle().fail("js-b-0").settle()
    assert world.attempts() == {"js-a-0": 1}
    assert world.condition("StartupPolicyCompleted")[0] == "False"  # type: ignore[index]


# --- suspension -------------------------------------------------------------------------------------------


def test_suspending_stops_active_jobs_and_leaves_finished_ones() -> None:
    world = World(a_rjob(replicas=2)).settle().run().succeed("js-a-0").suspend().settle()
    assert [job["spec"]["suspend"] for job in world.jobs.values()] == [False, True]
    assert world.condition("Suspended") == ("True", "SuspendedJobs", "jobset is suspended")
    assert world.count("a")["suspended"] == 1


def test_a_jobset_that_never_was_suspended_says_nothing_about_it() -> None:
    assert World().settle().condition("Suspended") is None


def test_suspending_during_a_restart_ends_the_restart() -> None:
    world = World(failurePolicy={"maxRestarts": 1}).settle().fail("js-a-0").settle().suspend().settle()
    assert world.condition("RestartingJobSet") == ("False", "JobSetSuspended", "jobset is suspended")


def test_resuming_tells_each_job_where_its_pods_may_go_by_now() -> None:
    world = World(suspend=True).settle()
    template = world.jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["metadata"] = {"labels": {"pool": "p"}, "annotations": {"note": "n"}}
    template["spec"]["nodeSelector"] = {"disk": "ssd"}
    world.jobs["js-a-0"]["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "z", "disk": "old"}
    job = world.suspend(False).settle().jobs["js-a-0"]["spec"]
    assert job["template"]["metadata"]["labels"]["pool"] == "p"
    assert job["template"]["metadata"]["labels"][labels.JOB_INDEX] == "0"
    assert job["template"]["metadata"]["annotations"]["note"] == "n"
    assert job["template"]["spec"]["nodeSelector"] == {"zone": "z", "disk": "ssd"}


def test_the_start_of_a_job_is_forgotten_before_it_goes_on_whether_its_template_changes_or_not() -> None:
    world = World(suspend=True).settle()
    world.suspend(False)
    assert world.plan().patches[0].status_first == {}
    world.report("js-a-0", startTime=NOW)
    patch = world.plan().patches[0]
    assert patch.status_first["status"] == {"startTime": None}
    assert patch.changes["spec"] == {"suspend": False}
    template = world.jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["nodeSelector"] = {"disk": "ssd"}
    assert world.plan().patches[0].status_first["status"] == {"startTime": None}


def test_a_patch_is_meant_for_one_job_only_whoever_has_its_name_later() -> None:
    world = World().settle().suspend()
    patch = world.plan().patches[0]
    assert patch.changes["metadata"] == {"uid": world.jobs["js-a-0"]["metadata"]["uid"]}


# --- ttl --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "waited", "left"), [(None, 0, None), (0, 0, 0.0), (10, 3, 7.0), (10, 10, 0.0), (10, 12, -2.0)]
)
def test_a_finished_jobset_stays_for_its_time(seconds: int | None, waited: int, left: float | None) -> None:
    world = World(ttlSecondsAfterFinished=seconds).settle().succeed("js-a-0").settle()
    assert ttl.remaining(world.jobset, START + timedelta(seconds=waited)) == left


def test_an_unfinished_jobset_has_no_time_to_run_out() -> None:
    assert ttl.remaining(World(ttlSecondsAfterFinished=0).settle().jobset, START) is None


def test_a_job_gets_its_own_time_to_live_only_when_the_jobset_has_finished() -> None:
    first = a_rjob("a")
    first["template"]["spec"]["ttlSecondsAfterFinished"] = 5
    world = World(first, a_rjob("b")).settle().succeed("js-a-0").settle()
    assert "ttlSecondsAfterFinished" not in world.jobs["js-a-0"]["spec"]
    world.succeed("js-b-0").settle()
    assert world.jobs["js-a-0"]["spec"]["ttlSecondsAfterFinished"] == 5
    assert "ttlSecondsAfterFinished" not in world.jobs["js-b-0"]["spec"]


# --- restarts of single jobs ------------------------------------------------------------------------------

ALONE = {"name": "alone", "action": "RestartJob", "onJobFailureReasons": ["BackoffLimitExceeded"]}
FREE = {"name": "free", "action": "RestartJobAndIgnoreMaxRestarts", "onJobFailureReasons": ["FailedIndexes"]}
SINGLE = {"maxRestarts": 2, "restartStrategy": "Recreate", "rules": [ALONE, FREE]}


def test_a_job_restarted_alone_leaves_the_others_running() -> None:
    world = World(a_rjob(replicas=3), failurePolicy=SINGLE).settle().run()
    before = {name: job["metadata"]["uid"] for name, job in world.jobs.items()}
    world.fail("js-a-1").settle()
    after = {name: job["metadata"]["uid"] for name, job in world.jobs.items()}
    assert [name for name in before if before[name] != after[name]] == ["js-a-1"]
    assert world.status["restarts"] == 0
    assert world.count("a")["jobRestarts"] == [0, 1, 0]
    assert world.count("a")["jobRestartsCountTowardsMax"] == [0, 1, 0]
    assert world.jobs["js-a-1"]["metadata"]["labels"][labels.JOB_ATTEMPT] == "1"
    assert world.told() == [("Warning", "RestartJobFailurePolicyAction")]


def test_restarts_of_single_jobs_count_together_towards_the_limit() -> None:
    world = World(a_rjob("a", 2), a_rjob("b"), failurePolicy=SINGLE).settle()
    world.fail("js-a-0").settle().fail("js-b-0").settle()
    assert attempts.counted(world.jobset) == 2
    assert world.fail("js-a-1").settle().condition("Failed")[1] == "ReachedMaxRestarts"  # type: ignore[index]


def test_free_restarts_of_single_jobs_do_not_count() -> None:
    world = World(a_rjob(replicas=2), failurePolicy=SINGLE).settle()
    for _ in range(4):
        world.fail("js-a-0", "FailedIndexes").settle()
    assert world.count("a")["jobRestarts"] == [4, 0]
    assert attempts.counted(world.jobset) == 0
    assert world.condition("Failed") is None


def test_two_jobs_that_fail_together_are_restarted_one_after_the_other() -> None:
    world = World(a_rjob(replicas=3), failurePolicy=SINGLE).settle().run()
    world.fail("js-a-0").fail("js-a-2").settle()
    assert world.count("a")["jobRestarts"] == [1, 0, 1]
    assert world.condition("Failed") is None


def test_a_job_from_before_restarts_of_single_jobs_were_counted_belongs_to_the_present() -> None:
    world = World(failurePolicy=SINGLE).settle()
    del world.jobs["js-a-0"]["metadata"]["labels"][labels.JOB_ATTEMPT]
    assert not attempts.is_over(world.jobset, world.jobs["js-a-0"])


def test_jobs_say_how_often_they_alone_were_restarted_only_where_a_rule_asks_for_it() -> None:
    assert labels.JOB_ATTEMPT not in World().settle().jobs["js-a-0"]["metadata"]["labels"]


# --- counts and conditions --------------------------------------------------------------------------------


def test_counts_are_listed_by_descending_name() -> None:
    world = World(a_rjob("b"), a_rjob("c"), a_rjob("a")).settle().run().settle()
    assert [entry["name"] for entry in world.status["replicatedJobsStatus"]] == ["c", "b", "a"]


def test_pending_pods_make_a_job_active_and_ready_ones_ready() -> None:
    world = World(a_rjob(replicas=2, pods=2)).settle().run("js-a-0", ready=False).run("js-a-1").settle()
    found = world.count("a")
    assert (found["active"], found["ready"]) == (2, 1)


def test_a_job_with_fewer_completions_than_parallelism_is_ready_with_those() -> None:
    job = a_rjob()
    job["template"]["spec"] |= {"parallelism": 5, "completions": 2}
    world = World(job).settle()
    world.report("js-a-0", active=2, ready=2)
    assert world.settle().count("a")["ready"] == 1


def test_zeros_are_not_worth_a_first_status_but_worth_a_later_one() -> None:
    world = World().settle()
    assert world.status == {}
    world.run().settle()
    world.report("js-a-0", active=0, ready=0)
    assert world.settle().count("a")["active"] == 0


def test_jobs_of_a_replicated_job_nobody_knows_are_not_counted() -> None:
    world = World().settle().run().settle()
    world.jobs["js-a-0"]["metadata"]["labels"][labels.REPLICATED_JOB] = "gone"
    assert world.settle().count("a")["active"] == 0


def test_a_condition_is_only_denied_when_it_was_claimed() -> None:
    draft = Draft({}, NOW)
    assert draft.deny("Suspended", "ResumeJobs", "jobset is resumed") == draft


def test_a_claim_made_twice_says_and_tells_nothing_new() -> None:
    once = Draft({}, NOW).claim("Suspended", "SuspendedJobs", "jobset is suspended")
    later = Draft(once.status, "2026-11-15T13:00:00Z")
    assert later.claim("Suspended", "SuspendedJobs", "jobset is suspended") == later


def test_a_new_reason_for_the_same_claim_keeps_its_time() -> None:
    once = Draft({}, NOW).claim("RestartingJobSet", "DefaultFailurePolicy", "x")
    again = Draft(once.status, "2026-11-15T13:00:00Z").claim("RestartingJobSet", "FailurePolicy_r", "y")
    assert again.status["conditions"][0]["lastTransitionTime"] == NOW
    assert [event.reason for event in again.events] == ["FailurePolicy_r"]


def test_of_two_claims_that_exclude_each_other_the_older_is_denied_in_silence() -> None:
    draft = startup.completed(startup.in_progress(Draft({}, NOW)))
    assert [(entry["type"], entry["status"]) for entry in draft.status["conditions"]] == [
        ("StartupPolicyInProgress", "False"),
        ("StartupPolicyCompleted", "True"),
    ]
    assert [event.reason for event in draft.events] == [
        "InOrderStartupPolicyInProgress",
        "InOrderStartupPolicyCompleted",
    ]
