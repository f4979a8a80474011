"""Jobs of the v1 kinds for tests, in one line each, and what a pod of one is told."""

from __future__ import annotations

from trainshed.controllers.v1jobs import environment, replicas
from trainshed.controllers.v1jobs.settings import DEFAULTS, Settings
from trainshed.kinds.kubeflow.families import Family
from trainshed.kinds.reading import entries
from trainshed.kube.objects import JSON, Object, copied, text


def a_job(family: Family, spec: Object | None = None, **counts: int) -> Object:
    """A job called `j` in namespace `ns` with so many replicas of each type."""
    given = {type: a_replica(family, count) for type, count in counts.items()}
    meta = {"name": "j", "namespace": "ns", "uid": "u1"}
    body = {family.replicas: given, **(spec or {})}
    return {"apiVersion": "kubeflow.org/v1", "kind": family.kind, "metadata": meta, "spec": body}


def a_replica(family: Family, count: int, **container: JSON) -> Object:
    main = {"name": family.container, "image": "i", **container}
    return {"replicas": count, "template": {"spec": {"containers": [main]}}}


def a_pod(family: Family, job: Object, type: str, index: int = 0, settings: Settings = DEFAULTS) -> Object:
    """The pod of a replica, furnished."""
    given = replicas.read(family, job)
    replica = replicas.find(given, type)
    assert replica is not None
    pod: Object = {"metadata": {"name": "p"}, **copied(replica.template)}
    environment.furnish(job, family, given, replica, index, pod, settings)
    return pod


def told(pod: Object, container: int = 0) -> dict[str, str]:
    """The variables of a container, in their order."""
    found = entries(entries(pod, "spec", "containers")[container], "env")
    return {text(variable, "name"): text(variable, "value") for variable in found}
