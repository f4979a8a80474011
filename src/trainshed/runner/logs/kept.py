"""Logs that outlive their pods; a note beside them says whose they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, metadata
from trainshed.kube.owners import controller_of
from trainshed.runner.logs import files

NOTE = "meta.json"
_LOOKS = 3
_JOBSET = "jobset.sigs.k8s.io/"
_V1 = "training.kubeflow.org/"
_INDEX = "batch.kubernetes.io/job-completion-index"
_JOB = "batch.kubernetes.io/job-name"


class PodNote(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Whose logs these are."""

    namespace: str
    name: str
    uid: str
    job: str = ""
    """The TrainJob (or JobSet, PyTorchJob, Job) the pod belonged to."""
    step: str = ""
    """Which of its parts: `node`, `launcher`, `dataset-initializer`, `worker` …"""
    index: int = 0
    """The pod's rank within that part."""
    attempt: int = 0
    """How often the whole had been restarted before."""
    owner: str = ""
    """The uid of the JobSet, PyTorchJob …: names are used again, uids are not."""
    node: str = ""
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The logs of one pod."""

    note: PodNote
    folder: Path

    def containers(self) -> list[str]:
        """In alphabetic order; those without a log are not there."""
        return sorted(entry.name for entry in os.scandir(self.folder) if entry.is_dir())

    def attempts(self, container: str) -> list[int]:
        """Runs of a container, first to last."""
        return files.attempts_in(self.folder / container)

    def run(self, container: str, attempt: int) -> Path:
        return self.folder / container / f"{attempt}.log"


def note_of(pod: Object, started: datetime | None = None, ended: datetime | None = None) -> PodNote:
    meta = metadata(pod)
    labels: Object = meta.get("labels") or {}
    index = labels.get(_INDEX) or labels.get(f"{_V1}replica-index")
    return PodNote(
        namespace=str(meta.get("namespace") or ""),
        name=str(meta.get("name") or ""),
        uid=str(meta.get("uid") or ""),
        job=_first(labels, f"{_JOBSET}jobset-name", f"{_V1}job-name", _JOB),
        step=_first(labels, f"{_JOBSET}replicatedjob-name", f"{_V1}replica-type"),
        index=_number(index),
        attempt=_number(labels.get(f"{_JOBSET}restart-attempt")),
        owner=str(labels.get(f"{_JOBSET}jobset-uid") or "") or _v1_owner(pod, labels),
        node=str(dig(pod, "spec", "nodeName") or ""),
        started=started,
        ended=ended,
    )


def write(root: Path, note: PodNote) -> None:
    """Put the note beside the pod's logs, over an older one: a new file in its place would cost far more."""
    folder = files.pod_folder(root, note.namespace, note.name, note.uid)
    path = os.path.join(folder, NOTE)
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        written = os.write(descriptor, msgspec.json.encode(note))
        os.ftruncate(descriptor, written)
    finally:
        os.close(descriptor)


def read(folder: Path) -> Kept | None:
    """The logs in a pod's folder; None without a note that can be read."""
    for _ in range(_LOOKS):
        try:
            return Kept(_notes.decode((folder / NOTE).read_bytes()), folder)
        except OSError:
            return None
        except ValueError:  # it may just be written
            continue
    return None


def listed(root: Path, namespace: str = "") -> list[Kept]:
    """All that is kept, in the order in which the pods started."""
    found = [kept for folder in pod_folders(root, namespace) if (kept := read(folder)) is not None]
    return sorted(found, key=_age)


def find(
    root: Path,
    namespace: str,
    job: str,
    *,
    step: str = "",
    rank: int | None = None,
    attempt: int | None = None,
) -> list[Kept]:
    """What the pods of a job left: of all attempts and ranks, or of those wanted."""
    return [
        kept
        for kept in listed(root, namespace)
        if kept.note.job == job
        and step in ("", kept.note.step)
        and rank in (None, kept.note.index)
        and attempt in (None, kept.note.attempt)
    ]


def pod_folders(root: Path, namespace: str = "") -> Iterator[Path]:
    try:
        spaces = [root / namespace] if namespace else [Path(entry) for entry in os.scandir(root)]
    except FileNotFoundError:
        return
    for space in spaces:
        if space.is_dir():
            yield from (Path(entry) for entry in os.scandir(space) if entry.is_dir())


_notes = msgspec.json.Decoder(PodNote)


def _age(kept: Kept) -> tuple[str, int, int, str]:
    started = kept.note.started
    return started.isoformat() if started else "", kept.note.attempt, kept.note.index, kept.note.name


def _v1_owner(pod: Object, labels: Object) -> str:
    """The uid of the v1 job that made a pod; pods of JobSets have theirs in a label."""
    owner = controller_of(pod) if labels.get(f"{_V1}job-name") else None
    return str(owner.get("uid") or "") if owner else ""


def _first(labels: Object, *keys: str) -> str:
    return next((str(labels[key]) for key in keys if labels.get(key)), "")


def _number(value: object) -> int:
    return whole(str(value or "")) or 0
