"""What --prove compares: differences that the report names do not count, others do."""

from __future__ import annotations

import pytest

from tests.pure.converting import simulated
from trainshed.jobs.converting import cases
from trainshed.jobs.converting.cases import Case
from trainshed.jobs.converting.proofs import Report, Run, compare
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
