"""MPIJobs of kubeflow.org/v1 with a real mpirun."""

from __future__ import annotations

import json

from tests.jobs import v1
from tests.jobs.v1 import a_job, a_replica, eventually, output, pods, reasons
from tests.whole import Whole
from trainshed.kube.objects import Object

PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
name, total = MPI.Get_processor_name(), world.allreduce(world.rank)
print(f"rank {world.rank} of {world.size} on {name}: the ranks add up to {total}", flush=True)
"""
SLEEPS = {"name": "mpi", "image": "example.org/any:1"}


def an_mpijob(name: str, *command: str, workers: int = 2, **spec: object) -> Object:
    """A launcher with this command, and workers without any: they sleep."""
    sleeping: Object = {"replicas": workers, "template": {"spec": {"containers": [dict(SLEEPS)]}}}
    job = a_job("MPIJob", name, {"cleanPodPolicy": "Running"}, Launcher=a_replica(*command), Worker=sleeping)
    job["spec"].update(spec)
    return job


def test_mpirun_starts_its_processes_in_the_workers(shed: Whole, name: str) -> None:
    shed.apply(an_mpijob(name, "mpirun", "-np", "2", "python", "-c", PROGRAM))
    job = v1.finish(shed, "MPIJob", name)
    said = output(shed, f"{name}-launcher")
    for rank in (0, 1):
        assert f"rank {rank} of 2 on {name}-worker-{rank}: the ranks add up to 1" in said
    assert job["status"]["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    eventually(lambda: len(pods(shed, name)) == 1, "the sleeping workers are removed")
    [launcher] = pods(shed, name)
    assert launcher["metadata"]["labels"][v1.ROLE] == "master"


def test_a_workers_slots_are_filled_in_the_container_that_is_named(shed: Whole, name: str) -> None:
    job = an_mpijob(
        name, "mpirun", "python", "-c", PROGRAM, workers=1, slotsPerWorker=2, mainContainer="main"
    )
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    worker.insert(0, {"name": "beside", "image": "any", "command": ["sleep", "1000"]})
    worker[1] |= {"name": "main", "command": ["sleep", "1000"], "env": [{"name": "WHERE", "value": "main"}]}
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["command"][-1] = f"import os; assert os.environ['WHERE'] == 'main'{PROGRAM}"
    shed.apply(job)
    v1.finish(shed, "MPIJob", name)
    said = output(shed, f"{name}-launcher")
    assert f"rank 1 of 2 on {name}-worker-0: the ranks add up to 1" in said


def test_a_process_that_fails_fails_the_job_in_words(shed: Whole, name: str) -> None:
    shed.apply(an_mpijob(name, "mpirun", "python", "-c", "raise SystemExit(3)", workers=1))
    job = v1.finish(shed, "MPIJob", name, "Failed")
    assert v1.message(job, "Failed").startswith(
        f"MPIJob {name} is failed because 1 Launcher replica(s) failed."
    )
    [failed] = [one for one in job["status"]["conditions"] if one["type"] == "Failed"]
    assert failed["reason"] == "MPIJobMPIJobFailed"


def test_what_belongs_to_somebody_else_is_not_overwritten(shed: Whole, name: str) -> None:
    """Case 46 of the reference."""
    shed.kubectl("create", "configmap", f"{name}-config", "--from-literal=mine=yes")
    shed.apply(an_mpijob(name, "true"))
    eventually(lambda: "ErrResourceExists" in reasons(shed, name), "the conflict is told")
    assert shed.get("configmap", f"{name}-config")["data"] == {"mine": "yes"}
    assert pods(shed, name) == []
    shed.kubectl("delete", "mpijob", name)


def test_scaled_workers_are_in_the_files_and_rights_of_the_launcher(shed: Whole, name: str) -> None:
    """Case 47 of the reference, and what elastic Horovod lives on."""
    shed.apply(an_mpijob(name, "sleep", "1000", workers=1, slotsPerWorker=2))
    v1.await_ready(shed, name, 2)
    patch = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}}
    shed.kubectl("patch", "mpijob", name, "--type=merge", "-p", json.dumps(patch))
    v1.await_ready(shed, name, 3)
    hosts = f"#!/bin/sh\necho {name}-worker-0:2\necho {name}-worker-1:2"

    def knows() -> bool:
        data = shed.get("configmap", f"{name}-config")["data"]
        return bool(data["discover_hosts.sh"] == hosts)

    eventually(knows, "both workers are in the script")
    rules = shed.get("role", f"{name}-launcher")["rules"]
    assert rules[1]["resourceNames"] == [f"{name}-worker-0", f"{name}-worker-1"]

    def reads() -> bool:
        found = shed.run(
            "kubectl", "exec", f"{name}-launcher", "-c", "mpi", "--", "/etc/mpi/discover_hosts.sh"
        )
        return found.out.split() == [f"{name}-worker-0:2", f"{name}-worker-1:2"]

    eventually(reads, "the launcher's own file says so, too")
    shed.kubectl("delete", "mpijob", name)
