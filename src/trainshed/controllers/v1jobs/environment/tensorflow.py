"""TensorFlow: `TF_CONFIG`, which names every pod of the job and this one's place among them."""

from __future__ import annotations

import json

from trainshed.controllers.v1jobs import replicas
from trainshed.controllers.v1jobs.environment.member import Member
from trainshed.kinds.core.environment import variable
from trainshed.kinds.kubeflow.families import TENSORFLOW
from trainshed.kinds.reading import is_true
from trainshed.kube.objects import JSON, Object, text


def variables(member: Member) -> list[Object]:
    """None for a job of a single pod: it would wait for peers."""
    if replicas.total(one for one in member.replicas if one.is_known) == 1:
        return []
    return [variable("TF_CONFIG", _config(member))]


def _config(member: Member) -> str:
    task = _written({"type": member.replica.label, "index": member.index})
    if is_true(member.job, "spec", "enableDynamicWorker"):
        sparse = _written(_sparse(member, member.once("cluster", _cluster)))
        return f'{{"cluster":{sparse},"task":{task}}}'
    cluster = member.once("written", lambda member: _written(_cluster(member)))
    return f'{{"cluster":{cluster},"task":{task},"environment":"cloud"}}'


def _written(value: JSON) -> str:
    return json.dumps(value, separators=(",", ":"))


def _cluster(member: Member) -> dict[str, list[str]]:
    return dict(sorted((one.label, _endpoints(member, one)) for one in member.replicas))


def _sparse(member: Member, cluster: dict[str, list[str]]) -> JSON:
    """What a pod has to know where workers come and go: itself, and a worker the parameter servers."""
    label, index = member.replica.label, member.index
    if label == "worker":
        return {"worker": {str(index): cluster[label][index]}, "ps": cluster.get("ps")}
    return {"worker": {}, "ps": [cluster[label][index]] if label == "ps" else []}


def _endpoints(member: Member, replica: replicas.Replica) -> list[str]:
    domain = member.settings.cluster_domain
    zone = f"{text(member.job, 'metadata', 'namespace')}.svc{f'.{domain}' if domain else ''}"
    port = TENSORFLOW.port if replica.port is None else replica.port
    return [f"{member.host(replica.type, index)}.{zone}:{port}" for index in range(replica.count)]
