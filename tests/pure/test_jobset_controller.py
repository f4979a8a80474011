"""The edge cases of the JobSet controller, one test each, in the order of the list they come from."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.pure.jobset_world import World, a_rjob, depends
from tests.pure.training_objects import a_jobset
from trainshed.controllers.jobset.desired import NOTHING
from trainshed.kinds.jobset import labels, validate
from trainshed.kube.objects import JSON, Object

ALWAYS = {"maxRestarts": 3, "restartStrategy": "Recreate"}
FIRST_FAILED = "(first failed job: {})"


def policy(*rules: Object, restarts: int = 0, **more: JSON) -> Object:
    named = [{"name": f"failurePolicyRule{place}", **rule} for place, rule in enumerate(rules)]
    return {"maxRestarts": restarts, "restartStrategy": "Recreate", "rules": named, **more}


# 38
def test_a_job_of_a_jobset_with_the_same_name_and_another_uid_is_ignored() -> None:
    world = World().settle().succeed("js-a-0")
    world.jobset["metadata"]["uid"] = "another"
    assert [made["metadata"]["name"] for made in world.plan().creates] == ["js-a-0"]
    assert world.plan().deletes == ()


# 39
def test_any_completes_with_one_of_three_and_deletes_only_the_other_active_jobs() -> None:
    world = World(a_rjob(replicas=3), successPolicy={"operator": "Any"}).settle().run()
    world.succeed("js-a-1").settle()
    assert world.condition("Completed") == ("True", "AllJobsCompleted", "jobset completed successfully")
    assert world.status["terminalState"] == "Completed"
    assert set(world.jobs) == {"js-a-1"}


# 40
def test_all_with_targets_does_not_care_about_other_jobs() -> None:
    policy = {"operator": "All", "targetReplicatedJobs": ["b"]}
    world = World(a_rjob("a"), a_rjob("b"), successPolicy=policy).settle().run()
    assert world.succeed("js-a-0").settle().condition("Completed") is None
    assert world.succeed("js-b-0").settle().condition("Completed") is not None


# 41
def test_a_failed_jobset_deletes_active_jobs_and_keeps_failed_and_succeeded_ones() -> None:
    world = World(a_rjob(replicas=4)).settle().run()
    world.succeed("js-a-0").fail("js-a-2").settle()
    assert set(world.jobs) == {"js-a-0", "js-a-2"}
    message = f"jobset failed due to one or more job failures {FIRST_FAILED.format('js-a-2')}"
    assert world.condition("Failed") == ("True", "FailedJobs", message)


# 42
def test_the_second_failure_with_one_restart_allowed_fails_and_leaves_restarts_at_one() -> None:
    world = World(failurePolicy=policy(restarts=1)).settle().run()
    assert world.fail("js-a-0").settle().status["restarts"] == 1
    world.run().fail("js-a-0").settle()
    message = f"jobset failed due to reaching max number of restarts {FIRST_FAILED.format('js-a-0')}"
    assert world.condition("Failed") == ("True", "ReachedMaxRestarts", message)
    assert (world.status["restarts"], world.status["restartsCountTowardsMax"]) == (1, 1)


# 43
def test_a_policy_without_restarts_fails_at_the_first_failure_for_having_reached_its_limit() -> None:
    world = World(failurePolicy=policy()).settle().fail("js-a-0").settle()
    assert world.condition("Failed")[1] == "ReachedMaxRestarts"  # type: ignore[index]
    assert world.status["restarts"] == 0


# 44
def test_restarts_that_ignore_the_limit_are_counted_apart() -> None:
    rules = (
        {"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]},
        {"action": "FailJobSet"},
    )
    world = World(failurePolicy=policy(*rules)).settle()
    for _ in range(3):
        world.run().fail("js-a-0", "PodFailurePolicy").settle()
    world.fail("js-a-0").settle()
    assert world.status["restarts"] == 3
    assert world.status.get("restartsCountTowardsMax", 0) == 0
    message = f"applying FailJobSet failure policy action {FIRST_FAILED.format('js-a-0')}"
    assert world.condition("Failed") == ("True", "FailJobSetFailurePolicyAction", message)


# 45
def test_the_first_rule_that_fits_decides() -> None:
    rules = (
        {"action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]},
        {"action": "RestartJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]},
    )
    world = World(failurePolicy=policy(*rules, restarts=5)).settle().fail("js-a-0").settle()
    assert world.condition("Failed")[1] == "FailJobSetFailurePolicyAction"  # type: ignore[index]
    assert world.status["restarts"] == 0


# 46
@pytest.mark.parametrize(
    ("rule", "reason", "message", "fails"),
    [
        ({}, "Any", "any", True),
        ({"onJobFailureReasons": ["DeadlineExceeded"]}, "DeadlineExceeded", "", True),
        ({"onJobFailureReasons": ["DeadlineExceeded"]}, "BackoffLimitExceeded", "", False),
        ({"onJobFailureMessagePatterns": ["exit code 13[89]"]}, "X", "failed with exit code 139 in a", True),
        ({"onJobFailureMessagePatterns": ["^exit"]}, "X", "failed with exit code 139", False),
        ({"onJobFailureMessagePatterns": ["no", "exit"]}, "X", "exit", True),
        ({"onJobFailureMessagePatterns": ["("]}, "X", "(", False),
        ({"targetReplicatedJobs": ["a"]}, "X", "", True),
        ({"targetReplicatedJobs": ["b"]}, "X", "", False),
        ({"onJobFailureReasons": ["X"], "targetReplicatedJobs": ["b"]}, "X", "", False),
        ({"onJobFailureReasons": ["X"], "onJobFailureMessagePatterns": ["y"]}, "X", "z", False),
    ],
)
def test_a_rule_needs_reason_and_message_and_target(
    rule: Object, reason: str, message: str, fails: bool
) -> None:
    given = policy({"action": "FailJobSet", **rule}, restarts=1)
    world = World(a_rjob("a"), a_rjob("b"), failurePolicy=given).settle()
    world.fail("js-a-0", reason, message).settle()
    assert (world.condition("Failed") is not None) is fails
    assert world.status["restarts"] == (0 if fails else 1)


# 47
def test_recreate_waits_for_each_old_job_and_blocking_recreate_for_all() -> None:
    for strategy, new in (("Recreate", 3), ("BlockingRecreate", 0)):
        given = policy(restarts=1, restartStrategy=strategy)
        world = World(a_rjob(replicas=4), failurePolicy=given).settle().run().fail("js-a-0")
        for _ in range(4):
            world.step()
            world.sweep("js-a-2")
        assert sorted(world.attempts().values()) == [0] + [1] * new
        world.sweep()
        assert set(world.settle().attempts().values()) == {1}
        assert len(world.jobs) == 4


# 48
def test_after_a_restart_all_jobs_are_new_also_those_that_had_succeeded() -> None:
    world = World(a_rjob("a"), a_rjob("b"), failurePolicy=ALWAYS).settle().run()
    world.succeed("js-a-0").fail("js-b-0").settle()
    assert world.attempts() == {"js-a-0": 1, "js-b-0": 1}
    for job in world.jobs.values():
        assert "status" not in job
        assert job["spec"]["template"]["metadata"]["labels"][labels.ATTEMPT] == "1"


# 49
def test_restarting_is_claimed_with_its_rule_and_denied_when_all_jobs_are_ready_again() -> None:
    rule = {"name": "Rule1", "action": "RestartJobSet"}
    world = World(a_rjob(replicas=2), failurePolicy=policy(rule, restarts=1)).settle().run()
    world.fail("js-a-1").settle()
    message = f"applying RestartJobSet failure policy action {FIRST_FAILED.format('js-a-1')}"
    assert world.condition("RestartingJobSet") == ("True", "FailurePolicy_Rule1", message)
    world.run("js-a-0").settle()
    assert world.condition("RestartingJobSet")[0] == "True"  # type: ignore[index]
    world.run().settle()
    assert world.condition("RestartingJobSet") == ("False", "JobsReady", "all jobs are ready")


# 50
def test_ready_is_also_met_by_jobs_that_are_through_and_complete_only_by_success() -> None:
    for status, met in (("Ready", True), ("Complete", False)):
        first, second = a_rjob("a", 3), a_rjob("b", dependsOn=depends(("a", status)))
        world = World(first, second, failurePolicy=ALWAYS, successPolicy={"operator": "All"}).settle()
        world.run("js-a-0").succeed("js-a-1", "js-a-2").settle()
        assert ("js-b-0" in world.jobs) is met
        assert "js-b-0" in world.succeed("js-a-0").settle().jobs


# 51
def test_a_job_with_two_dependencies_is_made_when_both_hold() -> None:
    waits = depends(("a", "Ready"), ("b", "Complete"))
    world = World(a_rjob("a"), a_rjob("b"), a_rjob("c", 2, dependsOn=waits)).settle()
    assert set(world.run("js-a-0", "js-b-0").settle().jobs) == {"js-a-0", "js-b-0"}
    assert set(world.succeed("js-b-0").settle().jobs) == {"js-a-0", "js-b-0", "js-c-0", "js-c-1"}


# 52
def test_of_a_suspended_jobset_only_jobs_without_open_dependencies_are_made() -> None:
    world = World(a_rjob("a"), a_rjob("b", dependsOn=depends(("a", "Ready"))), suspend=True).settle()
    assert {name: job["spec"]["suspend"] for name, job in world.jobs.items()} == {"js-a-0": True}
    world.suspend(False).settle()
    assert {name: job["spec"]["suspend"] for name, job in world.jobs.items()} == {"js-a-0": False}
    world.run("js-a-0").settle()
    assert {name: job["spec"]["suspend"] for name, job in world.jobs.items()} == {
        "js-a-0": False,
        "js-b-0": False,
    }


# 53
def test_a_deleted_headless_service_is_made_again_under_the_real_name() -> None:
    world = World(name="made-up-x7k2p").settle()
    world.jobset["metadata"]["generateName"] = "made-up-"
    world.services.clear()
    assert list(world.settle().services) == ["made-up-x7k2p"]
    pod = world.jobs["made-up-x7k2p-a-0"]["spec"]["template"]["spec"]
    assert pod["subdomain"] == "made-up-x7k2p"


# 54
def test_dependencies_go_with_any_order_but_not_with_in_order_or_the_first_job() -> None:
    second = a_rjob("b", dependsOn=depends(("a", "Ready")))
    any_order = a_jobset(a_rjob("a"), second, startupPolicy={"startupPolicyOrder": "AnyOrder"})
    assert validate.create_errors(any_order, lambda name: None) == []
    first = a_jobset(a_rjob("a", dependsOn=depends(("a", "Ready"))))
    said = [str(error) for error in validate.create_errors(first, lambda name: None)]
    assert any("DependsOn can't be set for the first ReplicatedJob" in words for words in said)
    # InOrder together with dependsOn is refused by a rule of the schema: see `test_crds`.


# 55
def test_suspending_keeps_restarts_and_resuming_keeps_what_earlier_runs_tolerated() -> None:
    world = World(failurePolicy=ALWAYS).settle().run().fail("js-a-0").settle()
    pod = world.jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    gate, spot, slow = {"name": "queue"}, {"key": "spot", "operator": "Exists"}, {"key": "slow"}
    pod |= {"tolerations": [spot], "schedulingGates": [gate]}
    world.suspend().settle().suspend(False).settle()
    pod |= {"tolerations": [slow], "schedulingGates": []}
    world.suspend().settle().suspend(False).settle()
    job = world.jobs["js-a-0"]["spec"]["template"]["spec"]
    assert (job["tolerations"], job["schedulingGates"]) == ([spot, slow], [gate])
    assert (world.status["restarts"], world.attempts()) == (1, {"js-a-0": 1})


# 56
def test_a_suspended_jobset_still_gets_its_claims_and_service() -> None:
    world = World(a_mounting_job(), suspend=True, volumeClaimPolicies=[a_claim_policy()]).settle()
    assert (list(world.claims), list(world.services)) == (["data-js"], ["js"])


# 57
def test_a_retained_claim_has_no_owner_and_one_that_exists_is_left_alone() -> None:
    for retention, owned in (("Retain", False), ("Delete", True)):
        world = World(a_mounting_job(), volumeClaimPolicies=[a_claim_policy(retention)]).settle()
        claim = world.claims["data-js"]
        assert ("ownerReferences" in claim["metadata"]) is owned
        claim["spec"] = {"storageClassName": "other"}
        assert world.settle().claims["data-js"]["spec"] == {"storageClassName": "other"}


# 58
def test_a_job_whose_pods_have_all_succeeded_is_ready_before_it_is_finished() -> None:
    world = World(a_rjob(pods=3)).settle()
    world.report("js-a-0", active=1, ready=1, succeeded=1)
    assert world.settle().count("a")["ready"] == 0
    world.report("js-a-0", active=0, ready=0, succeeded=3)
    assert world.settle().count("a") == a_count("a", ready=1)


# 59
def test_a_jobset_whose_jobs_ask_for_no_pods_completes_when_they_do() -> None:
    world = World(a_rjob(pods=0)).settle()
    assert world.count("a")["ready"] == 1
    assert world.succeed("js-a-0").settle().status["terminalState"] == "Completed"


# 60
def test_a_pass_over_an_unchanged_jobset_writes_nothing() -> None:
    world = World(a_rjob("a", 2), a_rjob("b"), failurePolicy=ALWAYS).settle().run().settle()
    before, writes = world.jobset["metadata"]["generation"], world.writes
    assert world.plan() == NOTHING
    assert (world.settle().writes, world.jobset["metadata"]["generation"]) == (writes, before)


# --- beside the list --------------------------------------------------------------------------------------


def test_a_jobset_that_is_being_deleted_or_managed_by_others_is_left_alone() -> None:
    leaving = World()
    leaving.jobset["metadata"]["deletionTimestamp"] = "2026-11-15T00:00:00Z"
    assert leaving.plan() == NOTHING
    assert World(managedBy="kueue.x-k8s.io/multikueue").plan() == NOTHING
    assert World(managedBy="jobset.sigs.k8s.io/jobset-controller").plan() != NOTHING


def test_failure_beats_success_in_the_same_pass() -> None:
    world = World(a_rjob(replicas=2), successPolicy={"operator": "Any"}).settle().run()
    world.succeed("js-a-0").fail("js-a-1").settle()
    assert (world.condition("Completed"), world.status["terminalState"]) == (None, "Failed")


def test_a_job_deleted_by_somebody_is_made_again_in_the_same_attempt() -> None:
    world = World(a_rjob(replicas=2)).settle()
    world.delete(world.jobs["js-a-1"])
    assert world.plan() == NOTHING
    world.sweep()
    assert world.settle().attempts() == {"js-a-0": 0, "js-a-1": 0}


def test_a_job_that_does_not_say_its_attempt_is_named_and_nothing_else_is_done() -> None:
    world = World().settle()
    del world.jobs["js-a-0"]["metadata"]["labels"][labels.ATTEMPT]
    plan = world.plan()
    assert (plan.creates, plan.deletes, plan.status) == ((), (), None)
    assert "js-a-0" in plan.events[0].message
    assert labels.ATTEMPT in plan.events[0].message


def test_a_jobset_without_jobs_is_quiet_and_never_complete() -> None:
    world = World()
    world.jobset["spec"]["replicatedJobs"] = []
    assert list(world.settle().services) == ["js"]
    assert world.status == {}


def test_without_dns_names_there_is_no_service_and_no_subdomain() -> None:
    world = World(network={"enableDNSHostnames": False}).settle()
    assert world.services == {}
    assert "subdomain" not in world.jobs["js-a-0"]["spec"]["template"]["spec"]


def test_a_service_that_is_there_is_used_as_it_is() -> None:
    world = World(network={"enableDNSHostnames": True, "subdomain": "meet"})
    mine = {"kind": "Service", "metadata": {"name": "meet"}, "spec": {"selector": {"app": "mine"}}}
    world.create(mine)
    assert world.settle().services["meet"]["spec"] == mine["spec"]


def test_a_restart_tells_its_condition_and_its_action() -> None:
    world = World(failurePolicy=ALWAYS).settle().run().fail("js-a-0").settle()
    assert world.told() == [
        ("Warning", "DefaultFailurePolicy"),
        ("Warning", "RestartJobSetFailurePolicyAction"),
    ]


def test_the_job_that_failed_first_is_named_and_the_order_of_the_spec_decides_between_equals() -> None:
    world = World(a_rjob(replicas=11)).settle()
    world.fail("js-a-10", at=1).fail("js-a-9", at=1).fail("js-a-2", at=2).settle()
    assert world.condition("Failed")[2].endswith("(first failed job: js-a-9)")  # type: ignore[index]


def test_nothing_is_deleted_or_made_while_a_restart_is_only_being_counted() -> None:
    world = World(a_rjob(replicas=2), failurePolicy=ALWAYS).settle().run().fail("js-a-0")
    plan = world.plan()
    assert (plan.creates, plan.deletes, plan.patches) == ((), (), ())
    assert plan.status is not None


def test_a_finished_jobset_waits_for_its_time_and_goes_in_the_foreground() -> None:
    world = World(ttlSecondsAfterFinished=10).settle().succeed("js-a-0").settle()
    world.now += timedelta(seconds=4)
    assert world.plan().check_again_in == 6.0
    world.now += timedelta(seconds=6)
    world.step()
    assert world.is_leaving


def a_count(name: str, **counts: int) -> Object:
    zeros = {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
    return {"name": name, **zeros, **counts}


def a_mounting_job() -> Object:
    job = a_rjob()
    mounts = [{"name": "data", "mountPath": "/data"}]
    job["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
    return job


def a_claim_policy(retention: str = "Delete") -> Object:
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": {"name": "data", "labels": {"team": "x"}}, "spec": size}
    return {"templates": [template], "retentionPolicy": {"whenDeleted": retention}}
