"""When a v1 job runs, starts again, succeeds and fails: the rules of each kind."""

from __future__ import annotations

import pytest

from tests.pure.v1jobs.v1_world import World, a_world, planted, running
from trainshed.controllers.v1jobs.podphases import is_retryable
from trainshed.kinds.kubeflow.families import (
    FAMILIES,
    JAX,
    MPI,
    MXNET,
    PADDLE,
    PYTORCH,
    TENSORFLOW,
    XGBOOST,
    Family,
)
from trainshed.kube.objects import dig

LED = {
    PYTORCH: ("master-0", {"Master": 1, "Worker": 2}),
    PADDLE: ("master-0", {"Master": 1, "Worker": 2}),
    XGBOOST: ("master-0", {"Master": 1, "Worker": 2}),
    TENSORFLOW: ("chief-0", {"Chief": 1, "Worker": 2}),
    MPI: ("launcher", {"Launcher": 1, "Worker": 2}),
    MXNET: ("scheduler-0", {"Scheduler": 1, "Server": 1, "Worker": 2}),
}
led = pytest.mark.parametrize("family", LED, ids=lambda family: family.kind)
by_kind = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)


def of_kind(family: Family) -> World:
    return running(family, **LED.get(family, ("", {"Worker": 2}))[1])


# --- all kinds --------------------------------------------------------------------------------------------


@by_kind
def test_a_job_is_created_and_runs_in_its_kinds_words(family: Family) -> None:
    world = of_kind(family)
    assert world.conditions() == {"Created": "True", "Running": "True"}
    assert world.condition("Created")["message"] == f"{family.kind} j is created."
    assert world.condition("Running")["reason"] == f"{family.kind}Running"
    where = "ns/j" if family in (TENSORFLOW, JAX) else "j"
    assert world.condition("Running")["message"] == f"{family.kind} {where} is running."


@by_kind
def test_a_job_whose_pods_all_succeed_succeeds(family: Family) -> None:
    world = of_kind(family).succeed().settle()
    assert world.conditions() == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert world.condition("Succeeded")["reason"] == f"{family.kind}Succeeded"
    is_short = family in (TENSORFLOW, JAX)
    words = "ns/j successfully completed." if is_short else "j is successfully completed."
    assert world.condition("Succeeded")["message"] == f"{family.kind} {words}"
    assert dig(world.status, "completionTime")
    assert f"{family.kind}Succeeded" in world.reasons("Normal")


@by_kind
def test_a_job_that_never_restarts_fails_with_the_first_pod(family: Family) -> None:
    world = of_kind(family).policy("Never").fail("worker-1", message="ValueError: boom").settle()
    failed = world.condition("Failed")
    assert list(world.conditions()) == ["Created", "Running", "Failed"]
    assert failed["reason"] == ("MPIJobMPIJobFailed" if family is MPI else f"{family.kind}Failed")
    who = {TENSORFLOW: "TFJob ns/j has failed", MXNET: "mxjob j is failed"}.get(
        family, f"{family.kind} j is failed"
    )
    assert failed["message"].startswith(f"{who} because 1 Worker replica(s) failed. First failure: ")
    assert failed["message"].endswith("exited 1: ValueError: boom")
    assert dig(world.status, "completionTime")
    assert world.counts("Worker") == {"active": 1, "failed": 1}
    assert "exited 1: ValueError: boom" in next(
        event.message for event in world.events if event.reason == f"{family.kind}PodFailed"
    )


@by_kind
def test_case_48_passes_over_a_job_that_goes_on_write_nothing(family: Family) -> None:
    world = of_kind(family)
    before = dict(world.status)
    assert world.step().status is None
    assert world.status == before


@led
def test_the_master_speaks_for_the_job(family: Family) -> None:
    leader, counts = LED[family]
    world = a_world(family, **counts).run("worker-0", "worker-1").settle()
    assert "Running" not in world.conditions()
    assert "Running" in world.run(leader).settle().conditions()


def test_a_paddlejob_without_a_master_speaks_of_its_namespace() -> None:
    world = running(PADDLE, Worker=2)
    assert world.condition("Running")["message"] == "PaddleJob ns/j is running."
    assert "Succeeded" not in world.succeed("worker-0").settle().conditions()
    assert world.succeed("worker-1").settle().condition("Succeeded")["message"] == (
        "PaddleJob ns/j successfully completed."
    )


@pytest.mark.parametrize("family", [PYTORCH, PADDLE, JAX], ids=lambda family: family.kind)
def test_autoscalers_are_told_how_to_find_the_pods(family: Family) -> None:
    world = of_kind(family)
    assert dig(world.status, "replicaStatuses", "Worker", "selector") == (
        f"training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name={family.singular}-controller,"
        "training.kubeflow.org/replica-type=worker"
    )


# --- PyTorch and its likes --------------------------------------------------------------------------------


def test_case_17_what_still_ran_when_the_job_succeeded_counts_as_succeeded() -> None:
    world = running().succeed("master-0").settle()
    assert (world.counts("Master"), world.counts("Worker")) == ({"succeeded": 1}, {"succeeded": 2})


def test_case_24_a_master_that_succeeds_ends_the_job_and_its_workers_go_by_policy_alone() -> None:
    world = running().succeed("master-0").settle()
    assert "Succeeded" in world.conditions()
    assert world.present() == {"master-0", "worker-0", "worker-1"}


def test_case_25_workers_that_run_beside_a_waiting_master_do_not_make_a_job_run() -> None:
    assert a_world().run("worker-0", "worker-1").settle().conditions() == {"Created": "True"}


def test_workers_that_failed_do_not_matter_once_the_master_has_succeeded() -> None:
    world = running().policy("Never").succeed("master-0").fail("worker-0", "worker-1").settle()
    assert world.conditions() == {"Created": "True", "Running": "False", "Succeeded": "True"}


def test_an_elastic_job_without_a_master_is_done_with_the_first_success() -> None:
    world = World(PYTORCH, {"elasticPolicy": {}}, Worker=3).settle().run().settle()
    assert "Succeeded" in world.succeed("worker-2").settle().conditions()


def test_a_pod_that_was_lost_is_replaced_alone_and_its_peers_go_on() -> None:
    world = running().evict("worker-0").settle()
    assert list(world.conditions()) == ["Created", "Restarting"]
    assert world.condition("Restarting")["message"] == (
        "PyTorchJob j is restarting because 1 Worker replica(s) failed."
    )
    assert world.present() == {"master-0", "worker-1"}
    world.sweep().settle()
    assert world.present() == {"master-0", "worker-0", "worker-1"}
    assert list(world.run().settle().conditions()) == ["Created", "Running"]
    assert world.reasons("Warning").count("PyTorchJobRestarting") == 2


def test_a_pod_of_which_a_restart_is_told_is_told_of_once_however_long_it_takes_to_go() -> None:
    world = running().evict("worker-0").settle()
    told = world.reasons().count("PyTorchJobRestarting")
    for _ in range(3):
        assert world.step().status is None
    assert world.reasons().count("PyTorchJobRestarting") == told


@pytest.mark.parametrize("code", [130, 137, 138, 143])
def test_case_26_a_program_that_was_killed_is_tried_again(code: int) -> None:
    world = running().policy("ExitCode").fail("worker-1", code=code).settle()
    assert list(world.conditions()) == ["Created", "Restarting"]
    assert world.present() == {"master-0", "worker-0"}
    assert world.sweep().settle().present() == {"master-0", "worker-0", "worker-1"}


@pytest.mark.parametrize("code", [1, 2, 3, 127])
@by_kind
def test_case_26_a_program_that_gives_up_ends_the_job(family: Family, code: int) -> None:
    world = of_kind(family).policy("ExitCode").fail("worker-1", code=code).settle()
    if family is MPI:  # nothing looks at exit codes there, and nothing is restarted
        assert list(world.conditions()) == ["Created", "Restarting"]
        return
    said = world.condition("Failed")["message"]
    assert said.startswith('job "j" is failing because "Worker" replica(s) failed.')
    assert f"{family.kind}Failed" in world.reasons("Warning")
    assert dig(world.status, "completionTime")


def test_case_27_a_sidecar_that_fails_under_exit_code_ends_the_job() -> None:
    world = running().policy("ExitCode").fail("worker-1", code=0).settle()
    assert "Failed" in world.conditions()


def test_a_pod_that_nobody_knows_the_end_of_is_tried_again() -> None:
    assert is_retryable(None)
    assert "Restarting" in running().policy("ExitCode").evict("worker-1").settle().conditions()


def test_case_28_a_running_pod_that_is_deleted_counts_as_failed() -> None:
    world = running().remove("j-worker-0").settle()
    assert world.counts("Worker") == {"active": 1, "failed": 1}


@pytest.mark.parametrize(("policy", "end"), [("OnFailure", "Restarting"), ("Never", "Failed")])
@pytest.mark.parametrize("family", [PYTORCH, TENSORFLOW, XGBOOST, MXNET], ids=lambda family: family.kind)
def test_a_pod_that_somebody_deletes_is_replaced_where_pods_are(
    family: Family, policy: str, end: str
) -> None:
    world = of_kind(family).policy(policy).remove("j-worker-0").settle()
    assert end in world.conditions()


def test_case_29_pods_beyond_the_number_of_replicas_go_and_none_is_made_between() -> None:
    world = running(PYTORCH, Worker=5)
    world.remove("j-worker-3").sweep().scale("Worker", 3).settle()
    assert world.present() == {"worker-0", "worker-1", "worker-2"}
    assert set(world.services) == {"j-worker-0", "j-worker-1", "j-worker-2"}


@pytest.mark.parametrize("family", [PYTORCH, TENSORFLOW, JAX], ids=lambda family: family.kind)
def test_a_job_that_is_made_smaller_does_not_fail_by_it(family: Family) -> None:
    world = running(family, Worker=3).policy("Never").scale("Worker", 2).settle()
    assert list(world.conditions()) == ["Created", "Running"]
    assert world.counts("Worker") == {"active": 2}


def test_a_job_that_is_made_larger_gets_more_pods_and_the_others_are_not_touched() -> None:
    world = running(PYTORCH, Worker=2)
    before = dict(world.pods)
    world.scale("Worker", 3).settle()
    assert world.present() == {"worker-0", "worker-1", "worker-2"}
    assert world.pods["j-worker-0"] is before["j-worker-0"]


# --- TensorFlow -------------------------------------------------------------------------------------------


def test_case_18_a_chief_may_succeed_and_the_job_fail_in_one_look() -> None:
    world = running(TENSORFLOW, Chief=1, Worker=2).policy("Never")
    world.succeed("chief-0").fail("worker-0", "worker-1").settle()
    assert list(world.conditions().items())[1:] == [
        ("Running", "False"),
        ("Succeeded", "True"),
        ("Failed", "True"),
    ]


def test_case_19_workers_that_fail_end_the_job_though_the_chief_runs() -> None:
    world = running(TENSORFLOW, Chief=1, Worker=2).policy("Never").fail("worker-0", "worker-1").settle()
    assert world.conditions() == {"Created": "True", "Running": "False", "Failed": "True"}
    assert "2 Worker replica(s) failed." in world.condition("Failed")["message"]


def test_case_20_without_a_chief_the_first_worker_ends_the_job() -> None:
    world = running(TENSORFLOW, Worker=3).succeed("worker-0").settle()
    assert "Succeeded" in world.conditions()


def test_case_20_unless_all_workers_have_to_end() -> None:
    world = planted(World(TENSORFLOW, None, Worker=3), "AllWorkers", "spec", "successPolicy").settle()
    world.run().settle().succeed("worker-0").settle()
    assert world.conditions() == {"Created": "True", "Running": "True"}
    world.policy("Never").fail("worker-1").settle()
    assert world.conditions() == {"Created": "True", "Running": "False", "Failed": "True"}


def test_case_21_other_workers_than_the_first_do_not_end_the_job() -> None:
    world = running(TENSORFLOW, Worker=4).succeed("worker-1", "worker-2").settle()
    assert world.conditions() == {"Created": "True", "Running": "True"}


def test_case_21_a_first_worker_that_does_not_tell_its_exit_code_has_not_completed() -> None:
    world = running(TENSORFLOW, Worker=2)
    world.pods["j-worker-0"]["status"] = {"phase": "Succeeded"}
    assert world.settle().conditions() == {"Created": "True", "Running": "True"}


def test_case_22_a_parameter_server_that_fails_ends_the_job() -> None:
    world = running(TENSORFLOW, Chief=1, PS=2, Worker=1).policy("Never").fail("ps-1").settle()
    assert "1 PS replica(s) failed." in world.condition("Failed")["message"]


def test_a_tfjob_that_starts_again_does_so_until_nothing_has_failed() -> None:
    world = running(TENSORFLOW, Chief=1, Worker=2).policy("OnFailure").evict("worker-0").settle()
    assert list(world.conditions()) == ["Created", "Restarting"]
    assert list(world.sweep().settle().run().settle().conditions()) == ["Created", "Running"]


def test_dynamic_workers_may_fail() -> None:
    world = planted(World(TENSORFLOW, None, Chief=1, Worker=2), True, "spec", "enableDynamicWorker")
    world.settle().run().settle().policy("Never").fail("worker-0").settle()
    assert world.conditions() == {"Created": "True", "Running": "True"}


# --- XGBoost, MXNet, MPI ----------------------------------------------------------------------------------


def test_an_xgboostjob_has_always_been_running() -> None:
    world = a_world(XGBOOST, Master=1, Worker=1).succeed("master-0").settle()
    assert list(world.conditions().items())[1:] == [("Running", "False"), ("Succeeded", "True")]


@pytest.mark.parametrize("family", [XGBOOST, MXNET], ids=lambda family: family.kind)
def test_a_lost_pod_is_deleted_and_ends_the_job_all_the_same(family: Family) -> None:
    world = of_kind(family).policy("OnFailure").evict("worker-0").settle()
    assert "Failed" in world.conditions()
    assert "worker-0" not in world.present()


def test_a_single_worker_of_an_mxjob_speaks_for_it() -> None:
    world = running(MXNET, Worker=1)
    assert world.conditions() == {"Created": "True", "Running": "True"}
    assert "Succeeded" in world.succeed().settle().conditions()


def test_an_mxjob_that_tunes_has_nobody_who_could_end_it() -> None:
    world = running(MXNET, TunerTracker=1, TunerServer=1, Tuner=1).succeed().settle()
    assert world.conditions() == {"Created": "True"}


def test_case_45_a_launcher_that_succeeded_leaves_no_workers_to_count() -> None:
    world = running(MPI, Launcher=1, Worker=2).succeed("launcher").settle()
    assert (world.counts("Launcher"), world.counts("Worker")) == ({"succeeded": 1}, {})
    assert {"MPIJobSucceeded", "mpijobsSucceeded"} <= {*world.reasons("Normal")}


def test_case_45_an_mpijob_runs_with_its_launcher_whatever_its_workers_do() -> None:
    world = a_world(MPI, Launcher=1, Worker=2).run("launcher").settle()
    assert world.condition("Running")["message"] == "MPIJob j is running."
    assert world.counts("Worker") == {}


def test_a_worker_of_an_mpijob_that_is_gone_is_made_again_until_the_launcher_has_ended() -> None:
    world = running(MPI, Launcher=1, Worker=2).remove("j-worker-0").sweep().settle()
    assert world.present() == {"launcher", "worker-0", "worker-1"}
    world.succeed("launcher").settle().remove("j-worker-1").sweep().settle()
    assert world.present() == {"launcher", "worker-0"}


def test_an_mpijob_has_no_services_and_what_its_pods_need_comes_first() -> None:
    world = World(MPI, None, Launcher=1, Worker=2)
    plan = world.plan()
    assert [obj["kind"] for obj in plan.ground] == ["ServiceAccount", "ConfigMap", "Role", "RoleBinding"]
    assert {obj["kind"] for obj in plan.creates} == {"Pod"}
    assert set(world.settle().pods) == {"j-launcher", "j-worker-0", "j-worker-1"}


def test_case_12_an_mpijob_that_cannot_work_is_told_so_and_gets_nothing() -> None:
    world = World(MPI, None, Worker=2)
    plan = world.step()
    assert (plan.creates, plan.ground, plan.status) == ((), (), None)
    [event] = world.events
    assert (event.type, event.reason) == ("Warning", "MPIJobFailedValidation")
    assert event.message == (
        "MPIJob failed validation because MPIReplicaSpec is not valid: Master ReplicaSpec must be present"
    )


def test_workers_of_an_mpijob_that_are_evicted_are_told_of() -> None:
    world = running(MPI, Launcher=1, Worker=2).evict("worker-1").settle()
    assert "Failed" in world.conditions()
    [event] = [event for event in world.events if event.reason == "MPIJobEvicted"]
    assert (event.type, event.message) == ("Warning", "1/2 workers are evicted")
