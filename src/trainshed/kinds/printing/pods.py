"""How a pod is printed: above all the one word that sums up its containers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from trainshed.kinds.printing.printer import (
    AGE,
    NAME,
    NONE,
    Printer,
    age,
    column,
    containers,
    entries,
    flag,
    is_true,
    labels,
    name_of,
    number,
    wide,
)
from trainshed.kinds.reading import mapping
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, dig, text


@dataclass(slots=True)
class _Restarts:
    count: int = 0
    last: str = ""

    def add(self, status: Object) -> None:
        self.count += number(status, "restartCount")
        finished = text(status, "lastState", "terminated", "finishedAt")
        # Timestamps of one form sort as text.
        self.last = max(self.last, finished)

    def printed(self, now: datetime) -> str:
        if not self.count or not self.last:
            return str(self.count)
        return f"{self.count} ({ages.age_of(self.last, now)} ago)"


@dataclass(slots=True)
class Summary:
    """What the containers of a pod add up to."""

    reason: str
    ready: int = 0
    restarts: _Restarts = field(default_factory=_Restarts)


def summary(pod: Object) -> Summary:
    found = Summary(_first_reason(pod))
    sidecars = _Restarts()
    initializing = _init_containers(pod, found, sidecars)
    if not initializing or is_true(entries(pod, "status", "conditions"), "Initialized"):
        found.restarts = sidecars
        _main_containers(pod, found)
    if dig(pod, "metadata", "deletionTimestamp"):
        if text(pod, "status", "reason") == "NodeLost":
            found.reason = "Unknown"
        elif text(pod, "status", "phase") not in ("Succeeded", "Failed"):
            found.reason = "Terminating"
    return found


def _first_reason(pod: Object) -> str:
    for condition in entries(pod, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return text(pod, "status", "reason") or text(pod, "status", "phase")


def _init_containers(pod: Object, found: Summary, sidecars: _Restarts) -> bool:
    """Account for init containers up to the first unfinished one; True if there is one."""
    restartable = _sidecar_names(pod)
    for index, status in enumerate(entries(pod, "status", "initContainerStatuses")):
        found.restarts.add(status)
        is_sidecar = text(status, "name") in restartable
        if is_sidecar:
            sidecars.add(status)
        ended = dig(status, "state", "terminated")
        if isinstance(ended, dict) and number(ended, "exitCode") == 0:
            continue
        if is_sidecar and flag(status, "started"):
            found.ready += flag(status, "ready")
            continue
        found.reason = _init_reason(status, index, sum(1 for _ in entries(pod, "spec", "initContainers")))
        return True
    return False


def _init_reason(status: Object, index: int, total: int) -> str:
    ended = dig(status, "state", "terminated")
    if isinstance(ended, dict):
        return "Init:" + _ending(ended)
    waiting = text(status, "state", "waiting", "reason")
    if waiting and waiting != "PodInitializing":
        return "Init:" + waiting
    return f"Init:{index}/{total}"


def _main_containers(pod: Object, found: Summary) -> None:
    running = False
    for status in reversed(list(entries(pod, "status", "containerStatuses"))):
        found.restarts.add(status)
        state = mapping(status, "state")
        if waiting := text(state, "waiting", "reason"):
            found.reason = waiting
        elif isinstance(state.get("terminated"), dict):
            found.reason = _ending(state["terminated"])
        elif flag(status, "ready") and isinstance(state.get("running"), dict):
            running = True
            found.ready += 1
    if found.reason == "Completed" and running:
        is_ready = any(
            condition.get("type") == "Ready" and condition.get("status") == "True"
            for condition in entries(pod, "status", "conditions")
        )
        found.reason = "Running" if is_ready else "NotReady"


def _ending(ended: Object) -> str:
    if reason := text(ended, "reason"):
        return reason
    signal = number(ended, "signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{number(ended, 'exitCode')}"


def _sidecar_names(pod: Object) -> set[str]:
    found = entries(pod, "spec", "initContainers")
    return {text(item, "name") for item in found if item.get("restartPolicy") == "Always"}


def _pod_cells(pod: Object, now: datetime) -> Sequence[JSON]:
    found = summary(pod)
    total = sum(1 for _ in entries(pod, "spec", "containers")) + len(_sidecar_names(pod))
    address = next((text(item, "ip") for item in entries(pod, "status", "podIPs")), "")
    return (
        name_of(pod),
        f"{found.ready}/{total}",
        found.reason,
        found.restarts.printed(now),
        age(pod, now),
        address or NONE,
        text(pod, "spec", "nodeName") or NONE,
        text(pod, "status", "nominatedNodeName") or NONE,
        _readiness_gates(pod),
    )


def _readiness_gates(pod: Object) -> str:
    gates = [text(gate, "conditionType") for gate in entries(pod, "spec", "readinessGates")]
    if not gates:
        return NONE
    passed = sum(is_true(entries(pod, "status", "conditions"), gate) for gate in gates)
    return f"{passed}/{len(gates)}"


def _template_cells(obj: Object, now: datetime) -> Sequence[JSON]:
    names, images = containers(dig(obj, "template", "spec"))
    return name_of(obj), names, images, labels(mapping(obj, "template", "metadata", "labels"))


POD = Printer(
    (
        NAME,
        column("Ready", "Containers that are ready, of all that should be."),
        column("Status", "State of the pod's containers in one word."),
        column("Restarts", "How often containers were restarted, and when last."),
        AGE,
        wide("IP", "Address of the pod."),
        wide("Node", "Node the pod is bound to."),
        wide("Nominated Node", "Node on which room is being made for the pod."),
        wide("Readiness Gates", "Extra readiness conditions that hold, of all that are asked for."),
    ),
    _pod_cells,
)
POD_TEMPLATE = Printer(
    (
        NAME,
        column("Containers", "Names of the containers in the template."),
        column("Images", "Images of the containers in the template."),
        column("Pod Labels", "Labels of the pods made from the template."),
    ),
    _template_cells,
)
PRINTERS = {"pods": POD, "podtemplates": POD_TEMPLATE}
