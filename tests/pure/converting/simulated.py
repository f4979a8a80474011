"""The pods a job would have, without anything that runs: of v1, and of the TrainJob in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.pure.training_objects import built_in
from trainshed.controllers.job import pod_template
from trainshed.controllers.jobset import jobs, replicated
from trainshed.controllers.trainjob import preview
from trainshed.controllers.v1jobs import pods, policies, replicas
from trainshed.controllers.v1jobs import team as teams
from trainshed.controllers.v1jobs.plan import Observed
from trainshed.jobs.converting.topology import Topology, parts, planned
from trainshed.kinds.kubeflow.families import FAMILIES, Family
from trainshed.kube.documents import read_yaml
from trainshed.kube.objects import Object, copied
from trainshed.runner import environment

MANIFESTS = Path(__file__).parent / "manifests"
ADDRESS = "10.0.0.9"


@dataclass(frozen=True)
class Seen:
    """A pod, and the variables of its main container."""

    pod: Object
    variables: dict[str, str]


def manifests() -> list[Object]:
    files = sorted(MANIFESTS.glob("*.yaml"))
    return [read_yaml(piece.encode()) for file in files for piece in file.read_text().split("\n---\n")]


def family_of(job: Object) -> Family:
    return next(family for family in FAMILIES if family.kind == job["kind"])


def topology_of(job: Object) -> Topology:
    family = family_of(job)
    return planned(family, job["metadata"]["name"], parts(family, job))


def v1_pods(job: Object) -> dict[tuple[str, int], Seen]:
    """By type and index."""
    family, job = family_of(job), copied(job)
    job["metadata"] = {"namespace": "default", "uid": "1", **job["metadata"]}
    given = replicas.read(family, job)
    seen = Observed(family, job, (), (), datetime.now(UTC))
    team = teams.gathered(seen, policies.read(family, job), {})
    return {
        (replica.type, index): _seen(pods.of(team, replica, index), family.container)
        for replica in given
        for index in range(replica.count)
    }


def trainjob_pods(documents: Sequence[Object]) -> dict[str, Seen]:
    """By the name each is reached by, within its JobSet."""
    return {host: _seen(pod, "node") for host, pod in made_pods(jobset_of(documents)).items()}


def made_pods(jobset: Object) -> dict[str, Object]:
    jobset["metadata"] |= {"uid": "2", "namespace": "default"}
    found = {}
    for replicated_job in (every := replicated.of(jobset)):
        for number in range(replicated_job.replicas):
            made = jobs.of(jobset, every, replicated_job, number)
            made["metadata"]["uid"] = "3"
            for index in range(made["spec"]["parallelism"]):
                pod = pod_template.new_pod(made, index)
                found[pod["spec"]["hostname"]] = pod
    return found


def jobset_of(documents: Sequence[Object], *, is_whole: bool = True) -> Object:
    """Fails where the control plane would refuse, unless it is only about what becomes of fields."""
    *own, trainjob = documents
    job = copied(trainjob)
    job["metadata"] = {"namespace": "default", "uid": "1", **job["metadata"]}
    runtime = own[0] if own else built_in(job["spec"]["runtimeRef"]["name"])
    shown = preview.preview(job, runtime)
    wrong = [lint for lint in shown.warnings if lint.severity == "error"]
    assert not (wrong and is_whole), wrong
    found: Object = copied(shown.jobset)
    return found


def _seen(pod: Object, name: str) -> Seen:
    containers = pod["spec"]["containers"]
    named = [container for container in containers if container["name"] == name] or containers
    sources = environment.Sources(
        {("secrets", "keys"): {"data": {}}}, {"status.podIP": ADDRESS, "limits.cpu": "2"}, {"cpu": "2"}
    )
    return Seen(pod, environment.variables(pod, named[0], sources))
