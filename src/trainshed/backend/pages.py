"""From rows and objects to the bodies of answers; pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime

from trainshed.backend.history.records import Entry, EventRow
from trainshed.backend.joblines.runs import LAUNCHER, TRAINER
from trainshed.backend.rendering import recall
from trainshed.backend.rows import ContainerRow, PodRow, Row
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, dig, text

_CODE_SUFFIX = "-train-script"


def job(row: Row) -> Object:
    return {
        "trainjob_name": row.name,
        "namespace": row.namespace,
        "uid": row.uid,
        "state": row.state,
        "phase": row.phase,
        "message": row.message,
        "framework": row.framework,
        "user_id": row.user_id,
        "runtime": row.runtime,
        "num_nodes": row.nodes,
        "labels": row.labels,
        "created_at": row.created,
        "completed_at": row.finished or None,
    }


def ended(entry: Entry) -> Object:
    return {**job(entry.row), "state": entry.state, "phase": entry.phase, "deleted_at": entry.deleted or None}


def pod(row: PodRow) -> Object:
    return {
        "name": row.name,
        "uid": row.uid,
        "role": row.role,
        "worker": row.rank,
        "attempt": row.attempt,
        "node": row.node,
        "phase": row.phase,
        "reason": row.reason,
        "message": row.message,
        "restarts": row.restarts,
        "gone": row.is_gone,
        "containers": [_container(one) for one in row.containers],
    }


def _container(row: ContainerRow) -> Object:
    return {
        "name": row.name,
        "init": row.is_init,
        "run": row.run,
        "state": row.state,
        "reason": row.reason,
        "message": row.message,
        "exit_code": row.exit_code,
        "previous_exit_code": row.previous_exit_code,
        "started_at": row.started or None,
        "finished_at": row.finished or None,
    }


def event(row: EventRow) -> Object:
    return {
        "time": row.time,
        "type": row.type,
        "reason": row.reason,
        "message": row.message,
        "object": row.object,
        "count": row.count,
    }


def attempts(pods: Iterable[PodRow]) -> list[Object]:
    """Each start of the whole job, with how its workers ended."""
    groups: dict[int, list[PodRow]] = {}
    for one in pods:
        groups.setdefault(one.attempt, []).append(one)
    return [_attempt(number, groups[number]) for number in sorted(groups)]


def _attempt(number: int, pods: Sequence[PodRow]) -> Object:
    nodes = [one for one in pods if one.role == TRAINER]
    # A launcher that is a node is the first one, and no other has its number.
    joins = bool(nodes) and all(one.rank for one in nodes)
    workers = [one for one in pods if joins and one.role == LAUNCHER] + nodes or pods
    codes = {str(one.rank): _exit_code(one) for one in workers}
    failed = sum(one.phase == "Failed" or bool(_exit_code(one)) for one in pods)
    return {"attempt": number, "pods": len(pods), "failed": failed, "exit_codes": codes}


def _exit_code(row: PodRow) -> int | None:
    """Of the container that trains; else of whichever ended badly, else of whichever ended."""
    main = [one for one in row.containers if not one.is_init]
    chosen = [one for one in main if one.name == TRAINER] or main
    codes = [one.exit_code for one in chosen if one.exit_code is not None]
    return next((code for code in codes if code), codes[0] if codes else None)


def timings(row: Row, pods: Iterable[PodRow], now: datetime) -> Object:
    """From submission to the first worker that runs, and from there to the end."""
    starts = [
        one.started
        for found in pods
        for one in found.containers
        if one.started and not one.is_init and one.state != "waiting"
    ]
    running = min(starts, default="")
    return {
        "submitted_at": row.created,
        "running_at": running or None,
        "finished_at": row.finished or None,
        "queued_seconds": _between(row.created, running or row.finished, now),
        "running_seconds": _between(running, row.finished, now) if running else None,
    }


def _between(begin: str, end: str, now: datetime) -> float | None:
    first = ages.parse_timestamp(begin)
    last = ages.parse_timestamp(end) if end else now
    return max((last - first).total_seconds(), 0.0) if first and last else None


# --- what was asked for -------------------------------------------------------------------------------------


def spec(trainjob: Object) -> Object:
    trainer = dig(trainjob, "spec", "trainer") or {}
    processes = trainer.get("numProcPerNode")
    return {
        "runtime": text(trainjob, "spec", "runtimeRef", "name"),
        "runtime_kind": text(trainjob, "spec", "runtimeRef", "kind") or "ClusterTrainingRuntime",
        "image": text(trainer, "image") or None,
        "command": [str(word) for word in (*(trainer.get("command") or ()), *(trainer.get("args") or ()))],
        "num_nodes": int(trainer.get("numNodes") or 1),
        "processes_per_node": None if processes is None else str(processes),
        "resources_per_node": _resources(trainer.get("resourcesPerNode")),
        # Values may be secrets; whoever may read the object finds them there.
        "env": [text(one, "name") for one in trainer.get("env") or ()],
        "suspend": bool(dig(trainjob, "spec", "suspend")),
    }


def _resources(found: JSON) -> Object:
    parts = {key: dig(found, key) for key in ("requests", "limits")}
    return {
        key: {str(name): str(amount) for name, amount in part.items()}
        for key, part in parts.items()
        if isinstance(part, dict)
    }


def code(trainjob: Object) -> Object:
    """Where the code came from, as far as the object tells."""
    git = dig(recall.request(trainjob), "git")
    if isinstance(git, dict):
        return {
            "kind": "git",
            **{key: text(git, key) or None for key in ("url", "ref", "subfolder")},
        }
    name = text(trainjob, "metadata", "name")
    for map_name in _config_maps(trainjob.get("spec")):
        if map_name in (f"{name}{_CODE_SUFFIX}", f"{name}-code"):
            return {"kind": "text", "config_map": map_name}
    return {"kind": "none"}


def _config_maps(spec: JSON) -> Iterable[str]:
    """The names of all ConfigMaps that are mounted anywhere below."""
    left = deque([spec])
    while left:
        value = left.popleft()
        if isinstance(value, dict):
            if isinstance(value.get("configMap"), dict):
                yield text(value, "configMap", "name")
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
