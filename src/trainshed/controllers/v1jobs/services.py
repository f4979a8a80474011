"""The headless service in front of one replica: the name its peers know it by."""

from __future__ import annotations

from trainshed.controllers.v1jobs import naming, pods, replicas
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.kinds.kubeflow.families import Family
from trainshed.kinds.reading import entries, number
from trainshed.kube.objects import Object, text


def of(family: Family, job: Object, replica: Replica, index: int) -> Object:
    """Pods that are not ready stay hidden, so that who resolves the name finds somebody there."""
    labels = naming.member_labels(family, job, replica.type, index)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": naming.member(family, text(job, "metadata", "name"), replica.type, index),
            "namespace": text(job, "metadata", "namespace"),
            "labels": labels,
            "ownerReferences": [pods.owner_of(family, job)],
        },
        "spec": {"clusterIP": "None", "selector": labels, "ports": _ports(family, replica)},
    }


def _ports(family: Family, replica: Replica) -> list[Object]:
    """Those of the container that trains; of several ports each needs a name."""
    container = replicas.main_container(family, entries(replica.template, "spec", "containers"))
    found: dict[str, Object] = {}
    for port in entries(container, "ports"):
        number_of_port = number(port, "containerPort")
        name = text(port, "name") or f"port-{number_of_port}"
        found[name] = {"name": name, "port": number_of_port, "protocol": text(port, "protocol") or "TCP"}
    return [*found.values()]
