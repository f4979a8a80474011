"""What a job's run policy allows it, what is left of it in the end, and what suspends it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.pure.v1jobs.v1_world import START, World, a_world, running
from trainshed.kinds.kubeflow.families import FAMILIES, JAX, MPI, MXNET, PYTORCH, TENSORFLOW, XGBOOST, Family
from trainshed.kinds.scheduling.gangs import MINIMUM
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object, dig, text

by_kind = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
BACKOFF = "Job j has failed because it has reached the specified backoff limit"
DEADLINE = "Job j has failed because it was active longer than specified deadline"


def leader(family: Family) -> Object:
    return {MPI: {"Launcher": 1}, XGBOOST: {"Master": 1}, MXNET: {"Scheduler": 1}}.get(family, {})


def why(world: World) -> str:
    return str(world.condition("Failed")["message"])


# --- suspension -------------------------------------------------------------------------------------------


@by_kind
def test_case_13_a_job_that_is_created_suspended_has_not_begun(family: Family) -> None:
    world = World(family, None, **leader(family), Worker=2).run_policy(suspend=True).settle()
    assert world.conditions() == {"Created": "True", "Suspended": "True"}
    assert (world.pods, world.services, world.status.get("startTime")) == ({}, {}, None)
    assert world.condition("Suspended")["message"] == f"{family.kind} j is suspended."
    assert world.reasons() == [f"{family.kind}Suspended"]


def test_case_14_suspended_while_it_runs_and_resumed() -> None:
    world = running()
    began = world.status["startTime"]
    world.run_policy(suspend=True).settle()
    assert list(world.conditions().items()) == [
        ("Created", "True"),
        ("Running", "False"),
        ("Suspended", "True"),
    ]
    assert world.condition("Running")["reason"] == "PyTorchJobSuspended"
    assert (world.present(), world.services, world.status["startTime"]) == (set(), {}, began)
    world.sweep().run_policy(suspend=False).settle()
    assert world.present() == {"master-0", "worker-0", "worker-1"}
    world.run().settle()
    assert list(world.conditions().items()) == [
        ("Created", "True"),
        ("Suspended", "False"),
        ("Running", "True"),
    ]
    assert world.condition("Suspended")["reason"] == "PyTorchJobResumed"
    assert world.status["startTime"] > began


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "ExitCode"])
@by_kind
def test_pods_of_the_time_before_a_suspension_are_not_held_against_the_job(
    family: Family, policy: str
) -> None:
    world = running(family, **leader(family), Worker=2).policy(policy)
    names = world.present()
    world.run_policy(suspend=True).settle().run_policy(suspend=False).settle()
    assert world.present() == set()  # the names are not free yet
    world.fail(code=1).settle()
    assert {"Failed", "Restarting"}.isdisjoint(world.conditions())
    assert world.sweep().settle().present() == names
    assert list(world.run().settle().conditions()) == ["Created", "Suspended", "Running"]


def test_case_31_a_suspended_job_loses_all_its_pods_whatever_the_policy() -> None:
    world = running().run_policy(cleanPodPolicy="None", suspend=True).succeed("worker-0").settle()
    assert (world.present(), world.services) == (set(), {})


def test_suspending_a_job_that_has_ended_does_nothing() -> None:
    world = running().succeed().settle().run_policy(suspend=True).settle()
    assert world.present() == {"master-0", "worker-0", "worker-1"}
    assert "Suspended" not in world.conditions()


# --- cleaning ---------------------------------------------------------------------------------------------

ALL = {"master-0", "worker-0", "worker-1"}


@pytest.mark.parametrize(
    ("policy", "left"),
    [(None, ALL), ("None", ALL), ("Running", {"master-0"}), ("All", set()), ("", set()), ("Odd", set())],
)
def test_case_30_what_a_finished_job_leaves_behind(policy: str | None, left: set[str]) -> None:
    world = running()
    if policy is not None:
        world.run_policy(cleanPodPolicy=policy)
    world.pods["j-worker-1"]["status"] = {"phase": "Pending"}
    world.succeed("master-0").settle()
    assert world.present() == left
    assert {name.removeprefix("j-") for name in world.services} == left


def test_failed_pods_stay_under_running_and_the_end_is_written_before_anything_goes() -> None:
    world = running().run_policy(cleanPodPolicy="Running").policy("Never").fail("worker-0")
    plan = world.step()
    assert (plan.deletes, world.present()) == ((), ALL)
    assert world.settle().present() == {"worker-0"}


@pytest.mark.parametrize(("common", "own", "left"), [(None, "All", 0), ("None", "All", 3), ("All", None, 0)])
def test_an_mpijob_has_two_places_for_the_policy_and_the_common_one_counts(
    common: str | None, own: str | None, left: int
) -> None:
    world = running(MPI, Launcher=1, Worker=2)
    world.job["spec"] |= {"cleanPodPolicy": own, "runPolicy": {"cleanPodPolicy": common}}
    assert len(world.succeed("launcher").settle().present()) == left


def test_case_37_what_is_on_its_way_out_is_not_deleted_again() -> None:
    world = running().run_policy(cleanPodPolicy="All").remove("j-worker-0")
    world.succeed("master-0").settle()  # the model refuses a second deletion
    assert world.present() == set()


# --- limits -----------------------------------------------------------------------------------------------


def test_case_32_a_limit_of_none_and_no_restarts_are_fine() -> None:
    assert "Failed" not in running().run_policy(backoffLimit=0).settle().conditions()


@pytest.mark.parametrize(("limit", "restarts", "fails"), [(3, 3, True), (3, 2, False), (0, 1, True)])
def test_case_32_restarts_in_place_are_counted(limit: int, restarts: int, fails: bool) -> None:
    world = running().run_policy(backoffLimit=limit).run("worker-0", restarts=restarts).settle()
    assert ("Failed" in world.conditions()) is fails
    if fails:
        assert why(world) == BACKOFF
        assert "PyTorchJobFailed" in world.reasons("Normal")
        assert dig(world.status, "completionTime")


def test_case_32_and_summed_over_all_pods() -> None:
    world = running(PYTORCH, Worker=4).run_policy(backoffLimit=4)
    assert "Failed" not in world.run("worker-0", "worker-1", "worker-2", restarts=1).settle().conditions()
    assert why(world.run("worker-3", restarts=1).settle()) == BACKOFF


def test_restarts_of_replicas_that_never_restart_are_not_counted() -> None:
    world = running().policy("Never").run_policy(backoffLimit=1).run("worker-0", restarts=5).settle()
    assert "Failed" not in world.conditions()


def test_case_33_without_any_retries_the_first_failure_is_the_limit() -> None:
    world = running().policy("Never").run_policy(backoffLimit=0).fail("worker-0", message="RuntimeError: x")
    assert (
        why(world.settle()) == f"{BACKOFF}. First failure: rank 1 of 3 (worker-0) exited 1: RuntimeError: x"
    )


def test_case_34_restarts_of_pods_that_do_not_run_are_not_counted() -> None:
    world = a_world().run_policy(backoffLimit=1)
    world.pods["j-worker-0"]["status"] = {
        "phase": "Pending",
        "initContainerStatuses": [{"name": "x", "restartCount": 7}],
    }
    assert "Failed" not in world.settle().conditions()


def test_a_limit_respects_the_cleaning_policy() -> None:
    kept = running().run_policy(backoffLimit=1, cleanPodPolicy="None").run("worker-0", restarts=1).settle()
    gone = running().run_policy(backoffLimit=1, cleanPodPolicy="All").run("worker-0", restarts=1).settle()
    assert (kept.present(), gone.present()) == (ALL, set())


def test_case_35_no_time_at_all_is_over_at_once() -> None:
    world = World().run_policy(activeDeadlineSeconds=0)
    assert "Failed" not in world.conditions()
    world.step()
    assert dig(world.status, "startTime") == timestamp(START)
    world.step()
    assert why(world) == DEADLINE


def test_case_35_time_that_has_not_begun_does_not_pass() -> None:
    world = World().run_policy(activeDeadlineSeconds=0, suspend=True).settle()
    assert "Failed" not in world.conditions()


def test_a_deadline_is_kept_though_nothing_happens() -> None:
    world = World().run_policy(activeDeadlineSeconds=60)
    plan = world.step()
    assert plan.check_again_in == 60
    world.now += timedelta(seconds=59)
    assert "Failed" not in world.settle().conditions()
    world.now += timedelta(seconds=1)
    assert why(world.settle()) == DEADLINE


@pytest.mark.parametrize("seconds", [2**63 - 1, -(2**63)])
def test_a_deadline_and_a_time_to_live_may_be_any_number_the_field_holds(seconds: int) -> None:
    world = World().run_policy(activeDeadlineSeconds=seconds).settle()
    assert ("Failed" in world.conditions()) == (seconds < 0)
    world = running().run_policy(ttlSecondsAfterFinished=seconds).succeed()
    world.step()
    world.step()
    assert world.is_gone == (seconds < 0)


def test_each_resumption_gives_a_job_all_its_time_again() -> None:
    world = World().run_policy(activeDeadlineSeconds=60).settle()
    world.now += timedelta(seconds=50)
    world.run_policy(suspend=True).settle()
    world.now += timedelta(seconds=500)
    assert "Failed" not in world.run_policy(suspend=False).settle().conditions()


# --- time to live -----------------------------------------------------------------------------------------


def test_case_36_a_job_without_time_to_live_goes_as_soon_as_it_has_ended() -> None:
    world = running().run_policy(ttlSecondsAfterFinished=0).succeed()
    world.step()
    assert not world.is_gone
    world.step()
    assert world.is_gone


@pytest.mark.parametrize("family", [PYTORCH, TENSORFLOW], ids=lambda family: family.kind)
def test_a_finished_job_goes_when_its_time_is_up(family: Family) -> None:
    world = running(family, Worker=1).run_policy(ttlSecondsAfterFinished=30).succeed()
    world.step()
    assert world.step().check_again_in == 30
    world.now += timedelta(seconds=30)
    world.step()
    assert world.is_gone
    reason = "SuccessfulDeleteJob" if family is TENSORFLOW else "SuccessfulDeletePod"
    assert (world.events[-1].reason, world.events[-1].message) == (reason, "Deleted job: j")


def test_case_36_a_suspended_job_does_not_go() -> None:
    world = running().succeed().settle().run_policy(ttlSecondsAfterFinished=0, suspend=True).settle()
    assert not world.is_gone


def test_case_36_a_job_that_another_operator_ended_without_a_time_goes_too() -> None:
    world = running().run_policy(ttlSecondsAfterFinished=0).policy("Never").fail("worker-0")
    world.step()
    del world.job["status"]["completionTime"]
    world.step()
    assert world.is_gone


# --- who manages it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("manager", ["kueue.x-k8s.io/multikueue", ""])
def test_case_11_a_job_that_somebody_else_manages_is_left_alone(manager: str) -> None:
    world = World().run_policy(managedBy=manager)
    assert (world.step().creates, world.status) == ((), {})
    assert world.run_policy(suspend=True).step().status is None


def test_case_11_but_not_a_jaxjob() -> None:
    assert World(JAX, None, Worker=1).run_policy(managedBy="kueue.x-k8s.io/multikueue").step().creates


def test_case_50_a_job_that_is_being_deleted_is_not_written_to() -> None:
    world = running().fail("worker-0")
    world.job["metadata"]["deletionTimestamp"] = timestamp(world.now)
    plan = world.step()
    assert (plan.status, plan.deletes, plan.creates, plan.events) == (None, (), (), ())


# --- gangs ------------------------------------------------------------------------------------------------


def marks(world: World) -> dict[str, str]:
    return {
        name.removeprefix("j-"): text(pod, "metadata", "annotations", MINIMUM)
        for name, pod in world.pods.items()
    }


def test_all_pods_of_a_job_wait_for_each_other() -> None:
    assert marks(a_world()) == {"master-0": "3", "worker-0": "3", "worker-1": "3"}


def test_a_job_may_start_with_fewer() -> None:
    world = World().run_policy(schedulingPolicy={"minAvailable": 2, "priorityClass": "high"}).settle()
    assert set(marks(world).values()) == {"2"}
    assert {text(pod, "spec", "priorityClassName") for pod in world.pods.values()} == {"high"}


def test_nobody_waits_for_more_than_there_will_be() -> None:
    assert set(marks(World().run_policy(schedulingPolicy={"minAvailable": 9}).settle()).values()) == {"3"}


def test_an_elastic_job_waits_for_its_fewest_workers() -> None:
    world = World(PYTORCH, {"elasticPolicy": {"minReplicas": 2, "maxReplicas": 5}}, Master=1, Worker=4)
    assert set(marks(world.settle()).values()) == {"3"}


def test_one_pod_waits_for_nobody() -> None:
    assert marks(a_world(PYTORCH, Worker=1)) == {"worker-0": ""}


def test_a_pod_that_takes_another_s_place_waits_for_nobody() -> None:
    world = running().evict("worker-0").settle().sweep().settle()
    assert marks(world)["worker-0"] == ""


def test_marks_follow_the_job_while_its_pods_wait() -> None:
    world = a_world().scale("Worker", 1).settle()
    assert marks(world) == {"master-0": "2", "worker-0": "2"}


# --- pods -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "copied"),
    [("Always", "Always"), ("OnFailure", "OnFailure"), ("Never", "Never"), ("ExitCode", "Never")],
)
def test_the_policy_of_the_replica_is_the_pods(policy: str, copied: str) -> None:
    world = World().policy(policy)
    worker = dig(world.job, "spec", "pytorchReplicaSpecs", "Worker", "template", "spec")
    worker["restartPolicy"] = "Always"
    world.settle()
    assert {text(pod, "spec", "restartPolicy") for pod in world.pods.values()} == {copied}
    assert world.reasons("Warning") == ["SetPodTemplateRestartPolicy"]


def test_a_service_stands_in_front_of_each_pod_and_hides_it_until_it_is_ready() -> None:
    service = a_world().services["j-worker-1"]
    labels = {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "1",
    }
    assert service["metadata"]["labels"] == labels
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": labels,
        "ports": [{"name": "pytorchjob-port", "port": 23456, "protocol": "TCP"}],
    }


def test_what_keeps_a_pod_from_running_is_told_once() -> None:
    world = a_world()
    waiting = {"reason": "ErrImagePull", "message": "no such image"}
    statuses = [{"name": "pytorch", "state": {"waiting": waiting}}]
    world.pods["j-worker-0"]["status"] = {"phase": "Pending", "containerStatuses": statuses}
    world.settle().settle()
    [event] = [event for event in world.events if event.type == "Warning"]
    assert (event.reason, event.message) == (
        "ErrImagePull",
        "Error pod j-worker-0 container pytorch waiting message: no such image",
    )


def test_a_pod_that_finds_no_node_is_told_of() -> None:
    world = a_world()
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    world.pods["j-worker-0"]["status"] = {"phase": "Pending", "conditions": [condition]}
    world.settle()
    assert world.events[-1].message == "Error pod j-worker-0 condition message: no room"
