"""A pod's status from what its containers do; pure.

The rules are the kubelet's (v1.35, `getPhase` and `status/generate.go`), so that whoever waits for a phase or
a condition sees the same story as on a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from trainshed.kinds.reading import entries, mapping
from trainshed.kube import conditions
from trainshed.kube.ages import parse_timestamp, timestamp
from trainshed.kube.objects import JSON, Object, copied, dig, text
from trainshed.runner import restarts
from trainshed.runner.states import ContainerView, Part, Running, Terminated, Waiting

FINAL: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod as the agent sees it at a moment."""

    containers: Mapping[str, ContainerView] = field(default_factory=dict)
    address: str = ""
    host_address: str = ""
    started: datetime | None = None
    """When the agent first took it on."""
    sandboxed: bool = False
    over: bool = False
    """Nothing of it will run any more, whatever its restart policy says."""
    reason: str = ""
    message: str = ""
    """Why the agent itself ended or refused the pod; then it has failed."""
    images: Mapping[str, str] = field(default_factory=dict)
    """What each container's image stands for here."""


def part_of(pod: Object, name: str) -> Part:
    for container in entries(pod, "spec", "initContainers"):
        if container.get("name") == name:
            return "sidecar" if container.get("restartPolicy") == "Always" else "init"
    return "main"


def is_final(pod: Object) -> bool:
    return dig(pod, "status", "phase") in FINAL


def began(pod: Object) -> datetime | None:
    """When the agent first took a pod on, as its status tells."""
    return parse_timestamp(dig(pod, "status", "startTime"))


def awaits_confirmation(pod: Object) -> bool:
    """Whether a deletion waits for its node to say that nothing runs any more."""
    meta = mapping(pod, "metadata")
    return bool(meta.get("deletionTimestamp")) and meta.get("deletionGracePeriodSeconds") != 0


def status(pod: Object, view: PodView, now: datetime) -> Object:
    """The fields of the status that the agent owns; None for those it wants gone."""
    phase = _phase(pod, view)
    found: Object = {
        "phase": phase,
        "reason": view.reason or None,
        "message": view.message or None,
        "startTime": timestamp(view.started) if view.started else None,
        "hostIP": view.host_address or None,
        "hostIPs": [{"ip": view.host_address}] if view.host_address else None,
        "podIP": view.address or None,
        "podIPs": [{"ip": view.address}] if view.address else None,
        "conditions": _conditions(pod, view, phase, timestamp(now)),
        "containerStatuses": _statuses(pod, "containers", view),
        "initContainerStatuses": _statuses(pod, "initContainers", view) or None,
        "ephemeralContainerStatuses": _refusals(pod) or None,
    }
    if (generation := dig(pod, "metadata", "generation")) is not None:
        found["observedGeneration"] = generation
    return found


def change(before: Object, after: Object) -> Object:
    """The part of a wanted status that differs from the one there; empty when nothing does."""
    ours = [one for one in entries(before, "conditions") if one.get("type") in _OURS]
    known = {**before, "conditions": sorted(ours, key=lambda one: _OURS.index(one["type"]))}
    return {key: value for key, value in after.items() if known.get(key) != value}


# --- phase ------------------------------------------------------------------------------------------------


def _phase(pod: Object, view: PodView) -> str:
    """A final phase is told when all is over, together with the reason for it, and never taken back."""
    if is_final(pod):
        return text(pod, "status", "phase")
    if view.over and view.reason:
        return "Failed"
    phase = _lived_phase(pod, view)
    if phase in FINAL and not view.over:
        began = any(one.attempt is not None for one in view.containers.values() if one.part == "main")
        return "Running" if began else "Pending"
    return phase


def _lived_phase(pod: Object, view: PodView) -> str:
    policy = text(pod, "spec", "restartPolicy") or "Always"
    views = [view.containers[name] for name in names(pod) if name in view.containers]
    inits = [one for one in views if one.part == "init"]
    mains = [one for one in views if one.part == "main"]
    if any((one.end.code if one.end else 0) and policy == "Never" for one in inits):
        return "Failed"
    if not mains or any(not _is_done(one) for one in inits) or _awaits_sidecars(views):
        return "Pending" if not view.over else "Failed"
    if any(isinstance(one.state, Waiting) and one.end is None for one in mains):
        return "Pending" if not view.over else "Failed"
    if any(one.is_running for one in views if one.part != "init"):
        return "Running"
    ends = [one.end.code for one in mains if one.end]
    if not view.over and any(restarts.starts_again(policy, "main", code) for code in ends):
        return "Running"
    return "Failed" if any(ends) else "Succeeded"


def _is_done(view: ContainerView) -> bool:
    return isinstance(view.state, Terminated) and view.state.code == 0


def _awaits_sidecars(views: Iterable[ContainerView]) -> bool:
    """Whether sidecars still have to start for the first time before the work may."""
    views = list(views)
    if any(one.attempt is not None for one in views if one.part == "main"):
        return False
    return any(not one.started and one.end is None for one in views if one.part == "sidecar")


def names(pod: Object) -> list[str]:
    """The containers of a pod in the order they start."""
    return [text(one, "name") for group in _GROUPS for one in entries(pod, "spec", group)]


_GROUPS: Final = ("initContainers", "containers")


# --- conditions -------------------------------------------------------------------------------------------


def _conditions(pod: Object, view: PodView, phase: str, now: str) -> list[Object]:
    ready = _containers_ready(pod, view, phase)
    gates = _gates(pod) if ready["status"] == "True" else ready
    sandboxed: Object = {"status": "True" if view.sandboxed else "False"}
    claims = (sandboxed, _initialized(pod, view, phase), gates, ready, {"status": "True"})
    before = dig(pod, "status", "conditions")
    return [_condition(type, claim, before, now) for type, claim in zip(_OURS, claims, strict=True)]


def _condition(type: str, claim: Object, before: JSON, now: str) -> Object:
    """The time of the transition stays while the status does; a reason that is gone has to be unset."""
    known = conditions.find(before, type) or {}
    since = known.get("lastTransitionTime") if known.get("status") == claim["status"] else None
    unset: Object = {key: None for key in ("reason", "message") if key in known and key not in claim}
    return {"type": type, **claim, **unset, "lastTransitionTime": since or now}


_OURS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def _containers_ready(pod: Object, view: PodView, phase: str) -> Object:
    if phase in FINAL:
        return {"status": "False", "reason": "PodCompleted" if phase == "Succeeded" else "PodFailed"}
    relevant = [name for name in names(pod) if part_of(pod, name) != "init"]
    return _judged(
        "ContainersNotReady",
        ("containers with unknown status", [name for name in relevant if name not in view.containers]),
        ("containers with unready status", [name for name in relevant if not _is_ready(view, name)]),
    )


def _is_ready(view: PodView, name: str) -> bool:
    return name not in view.containers or view.containers[name].ready


def _initialized(pod: Object, view: PodView, phase: str) -> Object:
    if phase == "Succeeded":
        return {"status": "True", "reason": "PodCompleted"}
    if any(one.attempt is not None for one in view.containers.values() if one.part == "main"):
        return {"status": "True"}
    relevant = [name for name in names(pod) if part_of(pod, name) != "main"]
    return _judged(
        "ContainersNotInitialized",
        ("containers with unknown status", [name for name in relevant if name not in view.containers]),
        ("containers with incomplete status", [name for name in relevant if _is_incomplete(view, name)]),
    )


def _is_incomplete(view: PodView, name: str) -> bool:
    one = view.containers.get(name)
    return one is not None and not (one.started if one.part == "sidecar" else one.ready)


def _judged(reason: str, *complaints: tuple[str, list[str]]) -> Object:
    told = [f"{words}: [{' '.join(found)}]" for words, found in complaints if found]
    return {"status": "False", "reason": reason, "message": ", ".join(told)} if told else {"status": "True"}


def _gates(pod: Object) -> Object:
    """Readiness gates: conditions that others set."""
    told = []
    for gate in entries(pod, "spec", "readinessGates"):
        type = text(gate, "conditionType")
        found = conditions.find(dig(pod, "status", "conditions"), type)
        if found is None:
            told.append(f'corresponding condition of pod readiness gate "{type}" does not exist.')
        elif found.get("status") != "True":
            told.append(f'the status of pod readiness gate "{type}" is not "True", but {found.get("status")}')
    if not told:
        return {"status": "True"}
    return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(told)}


# --- containers -------------------------------------------------------------------------------------------


def _statuses(pod: Object, group: str, view: PodView) -> list[Object]:
    uid = text(pod, "metadata", "uid")
    # What an image is does not change; an agent that adopted a container has not looked.
    told = {text(one, "name"): text(one, "imageID") for one in entries(pod, "status", _STATUSES[group])}
    return [_status(uid, container, view, told) for container in entries(pod, "spec", group)]


_STATUSES: Final = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}


def _status(uid: str, container: Object, view: PodView, told: Mapping[str, str]) -> Object:
    name = text(container, "name")
    one = view.containers.get(name) or ContainerView(name)
    found: Object = {
        "name": name,
        "image": text(container, "image"),
        "imageID": view.images.get(name) or told.get(name, ""),
        "restartCount": one.restarts,
        "ready": one.ready,
        "started": one.started,
        "state": _state(uid, one, one.state),
        "lastState": _state(uid, one, one.last) if one.last else {},
    }
    if one.attempt is not None:
        found["containerID"] = container_id(uid, name, one.attempt)
    if amounts := container.get("resources"):
        found["resources"] = copied(amounts)
    return found


def _refusals(pod: Object) -> list[Object]:
    """Containers added for debugging never run here; said in a way that ends `kubectl debug` at once."""
    why = "ephemeral containers do not run here: use kubectl exec"
    return [
        {
            "name": text(container, "name"),
            "image": text(container, "image"),
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": 1, "reason": "ContainerCannotRun", "message": why}},
            "lastState": {},
        }
        for container in entries(pod, "spec", "ephemeralContainers")
    ]


def container_id(uid: str, name: str, attempt: int) -> str:
    return f"trainshed://{uid}/{name}/{attempt}"


def _state(uid: str, one: ContainerView, state: Waiting | Running | Terminated) -> Object:
    if isinstance(state, Waiting):
        told = {"reason": state.reason, "message": state.message}
        return {"waiting": {key: value for key, value in told.items() if value}}
    if isinstance(state, Running):
        return {"running": {"startedAt": timestamp(state.started)}}
    return {"terminated": _end(uid, one.name, state)}


def _end(uid: str, container: str, end: Terminated) -> Object:
    found: Object = {"exitCode": end.code, "reason": end.reason}
    if end.signal:
        found["signal"] = end.signal
    if end.message:
        found["message"] = end.message
    for name, moment in (("startedAt", end.started), ("finishedAt", end.finished)):
        if moment is not None:
            found[name] = timestamp(moment)
    if end.attempt is not None:
        found["containerID"] = container_id(uid, container, end.attempt)
    return found
