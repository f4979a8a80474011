"""From "this script, so many nodes" to the objects that run it; pure.

The TrainJob that comes out is one for any cluster with Kubeflow Trainer: the code travels in a ConfigMap (or
is cloned by git), and all that is particular to this machine is an annotation others ignore.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from trainshed.jobs import bundle as bundles
from trainshed.jobs import dialects
from trainshed.jobs.bundle import Bundle
from trainshed.jobs.dialects import NEWEST, Change, Dialect
from trainshed.jobs.frameworks import Framework
from trainshed.kinds.trainer import git_clone
from trainshed.kube.objects import Object

API_VERSION = "trainer.kubeflow.org/v1alpha1"
MANAGER = "trainshed.dev/run"
PYTHON = "trainshed.dev/python"
"""Annotation of a pod: the Python environment its containers run in."""
RETRIES = "trainshed.dev/retries"
"""Annotation of a TrainJob: how often it begins anew; others than Trainshed leave it to the runtime."""
TTL = "trainshed.dev/ttl-seconds-after-finished"
"""Annotation of a TrainJob: how long it is kept; upstream's TrainJobs have no field for it."""
CODE_FOLDER = "/trainshed/code"
REPOSITORY_FOLDER = "/trainshed/repository"
_LONGEST_NAME = 63
_OWN_FOLDER = "work=$(mktemp -d)"
"""Where the script starts: its own, also where pods are plain processes that share this machine's folders."""
_CODE_VOLUME = "trainshed-code"


@dataclass(frozen=True, slots=True)
class Sent:
    """Files that travel in a ConfigMap of their own."""

    bundle: Bundle


@dataclass(frozen=True, slots=True)
class Local:
    """A folder of this machine, mounted as it is."""

    folder: str


@dataclass(frozen=True, slots=True)
class Git:
    url: str
    ref: str = ""
    local: bool = False
    """The URL is a folder of this machine: pods get it mounted."""


Code = Sent | Local | Git


@dataclass(frozen=True, slots=True)
class Volume:
    kind: Literal["hostPath", "claim"]
    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    name: str
    framework: Framework
    script: str
    """Relative to the root of the code."""
    code: Code
    arguments: tuple[str, ...] = ()
    nodes: int = 1
    processes: int | None = None
    runtime: str = ""
    image: str = ""
    env: tuple[tuple[str, str], ...] = ()
    volumes: tuple[Volume, ...] = ()
    resources: tuple[tuple[str, str], ...] = ()
    python: str = ""
    ttl_seconds: int | None = None
    retries: int | None = None
    """How often all of it begins anew after a failure; None leaves that to the runtime."""


def code_map(wanted: Submission) -> Object | None:
    """The ConfigMap with the code, where it travels in one."""
    if not isinstance(wanted.code, Sent):
        return None
    meta = {"name": f"{wanted.name}-code", "labels": {"trainshed.dev/run": wanted.name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **bundles.content(wanted.code.bundle)}


def trainjob(wanted: Submission, dialect: Dialect = NEWEST) -> Object:
    spec: Object = {
        "runtimeRef": {"name": wanted.runtime or wanted.framework.runtime},
        "trainer": _trainer(wanted),
        **dialects.changes([Change(wanted.framework.jobs, _pod(wanted))], dialect, MANAGER),
    }
    meta: Object = {"name": wanted.name}
    wishes = {RETRIES: wanted.retries, TTL: wanted.ttl_seconds}
    if annotations := {name: str(value) for name, value in wishes.items() if value is not None}:
        meta["annotations"] = annotations
    return {"apiVersion": API_VERSION, "kind": "TrainJob", "metadata": meta, "spec": spec}


def name_for(script: str, suffix: str) -> str:
    """A name that says which script it is: `train-7f3k` for train.py."""
    stem = script.rpartition("/")[2].rpartition(".")[0] or script
    words = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    words = words if words[:1].isalpha() else f"job-{words}".rstrip("-")
    return f"{words[:40].rstrip('-')}-{suffix}"


def room_for_name(nodes: int, used: Framework) -> int:
    """How long the name of a job may be, so that those of its pods are no longer than any may be."""
    return _LONGEST_NAME - max(len(f"-{job}-0-{nodes - 1}-abcde") for job in used.jobs)


# --- the trainer --------------------------------------------------------------------------------------------


def _trainer(wanted: Submission) -> Object:
    trainer: Object = {"command": ["bash", "-c", _shell(wanted)], "numNodes": wanted.nodes}
    if wanted.processes is not None:
        trainer["numProcPerNode"] = wanted.processes
    if wanted.image:
        trainer["image"] = wanted.image
    if wanted.env:
        trainer["env"] = [{"name": name, "value": value} for name, value in wanted.env]
    if wanted.resources:
        amounts = dict(wanted.resources)
        trainer["resourcesPerNode"] = {"requests": amounts, "limits": amounts}
    return trainer


def _shell(wanted: Submission) -> str:
    start = [*wanted.framework.launcher, wanted.script, *wanted.arguments]
    return "\n".join([*_preparation(wanted), f"exec {shlex.join(start)}"])


def _preparation(wanted: Submission) -> list[str]:
    """Lines that leave the code in the folder the script starts in."""
    match wanted.code:
        case Git(url, ref, local):
            source = f"file://{REPOSITORY_FOLDER}" if local else shlex.quote(url)
            chosen = shlex.quote(ref or "HEAD")
            clone = git_clone.checkout(source, chosen, '"$work/code"', '"$work/refused"')
            return ["set -e", _OWN_FOLDER, clone]
        case Sent() if len(wanted.framework.jobs) == 1:
            # A ConfigMap cannot be written to; scripts like to write beside themselves.
            return ["set -e", _OWN_FOLDER, bundles.copied(CODE_FOLDER, '"$work"'), 'cd "$work"']
        case _:
            return ["set -e", f"cd {CODE_FOLDER}"]


# --- the pods -----------------------------------------------------------------------------------------------


def _pod(wanted: Submission) -> Object:
    volumes, mounts = _volumes(wanted)
    pod: Object = {"spec": {"containers": [{"name": "node", "volumeMounts": mounts}], "volumes": volumes}}
    if wanted.python:
        pod["metadata"] = {"annotations": {PYTHON: wanted.python}}
    return pod


def _volumes(wanted: Submission) -> tuple[list[Object], list[Object]]:
    volumes: list[Object] = []
    mounts: list[Object] = []
    if isinstance(wanted.code, Git):
        if wanted.code.local:
            volumes.append({"name": _CODE_VOLUME, "hostPath": {"path": wanted.code.url, "type": "Directory"}})
            mounts.append({"name": _CODE_VOLUME, "mountPath": REPOSITORY_FOLDER, "readOnly": True})
    else:
        volumes.append({"name": _CODE_VOLUME, **_code_source(wanted.name, wanted.code)})
        mounts.append({"name": _CODE_VOLUME, "mountPath": CODE_FOLDER})
    for index, volume in enumerate(wanted.volumes):
        name = f"volume-{index}"
        volumes.append({"name": name, **_volume_source(volume)})
        mounts.append({"name": name, "mountPath": volume.target, "readOnly": volume.read_only})
    if not any(volume.target == "/dev/shm" for volume in wanted.volumes):
        # Data loaders with several workers need more shared memory than the usual 64 MiB.
        volumes.append({"name": "dshm", "emptyDir": {"medium": "Memory"}})
        mounts.append({"name": "dshm", "mountPath": "/dev/shm"})
    return volumes, mounts


def _code_source(name: str, code: Sent | Local) -> Object:
    if isinstance(code, Local):
        return {"hostPath": {"path": code.folder, "type": "Directory"}}
    return {"configMap": {"name": f"{name}-code", "items": bundles.items(code.bundle)}}


def _volume_source(volume: Volume) -> Object:
    if volume.kind == "claim":
        return {"persistentVolumeClaim": {"claimName": volume.source, "readOnly": volume.read_only}}
    return {"hostPath": {"path": volume.source}}


# --- reading what people type -------------------------------------------------------------------------------


def read_env(pairs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`K=V` each; raises `ValueError` with the pair."""
    found = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not re.fullmatch(r"[-._a-zA-Z][-._a-zA-Z0-9]*", name):
            raise ValueError(f"--env needs NAME=VALUE, not {pair[:80]!r}")
        found.append((name, value))
    return tuple(found)


def read_git(text: str) -> Git:
    """`URL@REF`; an @ before the last slash or colon belongs to the URL (`git@host:repo`)."""
    url, at, ref = text.rpartition("@")
    if not at or not url or ":" in ref:
        return Git(text)
    return Git(url, ref)


def local_repository(url: str) -> str:
    """The folder a URL names, as it was written: `file:///home/me/code`, `../code`; empty for others."""
    if url.startswith("file://"):
        return unquote(url.removeprefix("file://").removeprefix("localhost"))
    return url if url.startswith(("/", ".", "~")) else ""


def read_volume(text: str, absolute: str) -> Volume:
    """`SOURCE:TARGET[:ro]`; a source with a slash or dot is a folder (`absolute`), any other a claim."""
    source, _, rest = text.partition(":")
    target, _, mode = rest.partition(":")
    if not source or not target.startswith("/") or mode not in ("", "ro", "rw"):
        raise ValueError(f"--volume needs SOURCE:/TARGET[:ro], not {text[:80]!r}")
    if is_folder(source):
        return Volume("hostPath", absolute, target, mode == "ro")
    return Volume("claim", source, target, mode == "ro")


def is_folder(source: str) -> bool:
    return "/" in source or source.startswith((".", "~"))
