"""What --prove compares: differences that the report names do not count, others do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.pure.converting import simulated
from trainshed.jobs.converting import cases
from trainshed.jobs.converting.cases import Case
from trainshed.jobs.converting.proofs import Report, Run, compare
from trainshed.jobs.converting.variables import RENDEZVOUS
from trainshed.kube.objects import Object, copied

ELASTIC = next(job for job in simulated.manifests() if job["metadata"]["name"] == "elastic")


def runs(found: Case) -> tuple[Run, Run]:
    """What pods would tell that have what the control plane gives them."""
    old = {
        found.old_host(member, "default"): Report(variables=seen.variables, met=True, code=0)
        for member, seen in simulated.v1_pods(found.job).items()
    }
    new = {
        f"{host}.{found.topology.name}": Report(variables=seen.variables, met=True, code=0)
        for host, seen in simulated.trainjob_pods(found.documents).items()
    }
    return Run(old, "Succeeded"), Run(new, "Succeeded")


@pytest.mark.parametrize("is_led", [False, True])
def test_an_elastic_job_that_asks_for_less_than_its_most_is_the_same(is_led: bool) -> None:
    job: Object = copied(ELASTIC)
    job["spec"]["elasticPolicy"]["maxReplicas"] = 5
    if is_led:
        replicas = job["spec"]["pytorchReplicaSpecs"]
        replicas["Master"] = {**copied(replicas["Worker"]), "replicas": 1}
    (found,) = cases.cases([job])
    proof = compare(found, "default", *runs(found))
    assert [row.faults for row in proof.rows] == [()] * (3 + is_led)


@pytest.mark.parametrize("processes", ["auto", "gpu", "cpu"])
def test_processes_that_are_chosen_by_the_resources_now_are_the_same(processes: str) -> None:
    job: Object = copied(ELASTIC)
    job["spec"]["nprocPerNode"] = processes
    (found,) = cases.cases([job])
    assert [row.faults for row in compare(found, "default", *runs(found)).rows] == [()] * 3


def test_a_job_that_would_never_end_is_restarted_on_failure_only() -> None:
    job: Object = copied(ELASTIC)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Always"
    (found,) = cases.cases([job])
    shown = cases.before(found, "default", 0)
    assert shown["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] == "OnFailure"


@pytest.mark.parametrize(
    ("command", "missed"), [(["torchrun", "a"], []), (["python", "torchrun"], RENDEZVOUS)]
)
def test_ranks_that_are_missing_are_a_difference_unless_torchrun_sets_them(
    command: list[str], missed: list[str]
) -> None:
    job: Object = copied(next(job for job in simulated.manifests() if job["metadata"]["name"] == "simple"))
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["containers"][0] |= {"command": command, "args": []}
    (found,) = cases.cases([job])
    old, new = runs(found)
    bare = {host: replace(one, variables=without(one.variables)) for host, one in new.pods.items()}
    rows = compare(found, "default", old, Run(bare, new.end)).rows
    assert {fault.split()[0] for row in rows for fault in row.faults} == set(missed)


def without(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in RENDEZVOUS}
