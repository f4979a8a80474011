"""Node objects: this machine as a node of the cluster, and nodes that are only pretended; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from trainshed import __version__
from trainshed.kinds.core.heartbeats import AGENT, LEASE_NAMESPACE, LEASE_SECONDS
from trainshed.kinds.release import KUBERNETES
from trainshed.kube import conditions, quantities
from trainshed.kube.ages import micro_timestamp, timestamp
from trainshed.kube.objects import Object, dig
from trainshed.runner.engine import Features
from trainshed.runner.gpus import RESOURCE
from trainshed.runner.machine import Machine
from trainshed.runner.settings import SimulatedNode, Taint

SIMULATED: Final = "trainshed.dev/simulated"
MOST_PODS: Final = 110
_KUBELET: Final = f"{KUBERNETES}+trainshed-{__version__}"
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node that this agent runs pods for."""

    name: str
    capacity: Mapping[str, str]
    devices: tuple[str, ...]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] | None
    """None for the machine itself: its taints are its users' business."""


def plans(machine: Machine, simulated: Sequence[SimulatedNode]) -> list[NodePlan]:
    """The machine first, then the pretended nodes; one of its own name replaces the machine."""
    own = NodePlan(
        machine.hostname,
        _capacity(str(machine.cores), f"{machine.memory // 1024}Ki", machine.disk, len(machine.gpus)),
        machine.gpus,
        {},
        None,
    )
    pretended = [_pretended(one, machine) for one in simulated]
    return [*([own] if own.name not in {one.name for one in pretended} else []), *pretended]


def _pretended(node: SimulatedNode, machine: Machine) -> NodePlan:
    capacity = _capacity(node.cpu, node.memory, machine.disk, node.gpus)
    devices = tuple(str(number) for number in range(node.gpus))
    return NodePlan(node.name, capacity, devices, {SIMULATED: "true", **dict(node.labels)}, node.taints)


def _capacity(cpu: str, memory: str, disk: int, gpus: int) -> dict[str, str]:
    found = {
        "cpu": quantities.canonical(cpu),
        "memory": quantities.canonical(memory),
        "ephemeral-storage": f"{disk // 1024}Ki",
        "pods": str(MOST_PODS),
    }
    return {**found, RESOURCE: str(gpus)} if gpus else found


def node(plan: NodePlan, machine: Machine, features: Features) -> Object:
    """The object without its status."""
    labels = {
        "kubernetes.io/hostname": plan.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine.architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": machine.architecture,
        "node.kubernetes.io/instance-type": "trainshed",
        AGENT: machine.hostname,
        **plan.labels,
    }
    annotations = {"trainshed.dev/runner": features.name}
    if features.cannot:
        annotations["trainshed.dev/runner-cannot"] = "; ".join(features.cannot)
    found: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": plan.name, "labels": labels, "annotations": annotations},
    }
    if plan.taints is not None:
        found["spec"] = {"taints": [_taint(one) for one in plan.taints]}
    return found


def _taint(taint: Taint) -> Object:
    found = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    return {key: value for key, value in found.items() if value}


def status(plan: NodePlan, machine: Machine, before: Object, now: datetime, *, ready: bool = True) -> Object:
    return {
        "capacity": dict(plan.capacity),
        "allocatable": dict(plan.capacity),
        "addresses": [
            {"type": "InternalIP", "address": machine.address},
            {"type": "Hostname", "address": plan.name},
        ],
        "conditions": _conditions(before, timestamp(now), ready),
        "nodeInfo": {
            "machineID": machine.machine_id,
            "systemUUID": machine.machine_id,
            "bootID": machine.boot_id,
            "kernelVersion": machine.kernel,
            "osImage": machine.system,
            "containerRuntimeVersion": f"trainshed://{__version__}",
            "kubeletVersion": _KUBELET,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": machine.architecture,
        },
    }


def _conditions(before: Object, now: str, ready: bool) -> list[Object]:
    wanted = [
        {"type": type, "status": "False", "reason": reason, "message": message}
        for type, reason, message in _PRESSURES
    ]
    if ready:
        words = ("True", "KubeletReady", "kubelet is posting ready status")
    else:
        words = ("False", "KubeletNotReady", "the node agent was stopped")
    wanted.append({"type": "Ready", "status": words[0], "reason": words[1], "message": words[2]})
    found: list[Object] = list(dig(before, "status", "conditions") or [])
    for condition in wanted:
        found = conditions.put(found, {**condition, "lastHeartbeatTime": now}, now)
    return found


def lease(plan: NodePlan, owner: Object, now: datetime) -> Object:
    """The heartbeat of a node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": plan.name,
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": plan.name, "uid": dig(owner, "metadata", "uid")}
            ],
        },
        "spec": {
            "holderIdentity": plan.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_timestamp(now),
        },
    }
