"""Logs of pods that are gone: earlier attempts, and jobs that were deleted; from the data folder itself."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from trainshed.runner.logs import kept
from trainshed.runner.logs.kept import Kept


def find(
    root: Path,
    namespace: str,
    job: str,
    rank: int | None,
    attempt: int | None,
    since: datetime | None = None,
) -> list[Kept]:
    """What a job's pods left, of the attempt asked for or of its last one."""
    there = [one for one in _own(root, namespace, job, since) if rank in (None, one.note.index)]
    if attempt is None:
        attempt = max((one.note.attempt for one in there), default=0)
    return [one for one in there if one.note.attempt == attempt]


def attempts(root: Path, namespace: str, job: str, since: datetime | None = None) -> list[int]:
    return sorted({one.note.attempt for one in _own(root, namespace, job, since)})


def _own(root: Path, namespace: str, job: str, since: datetime | None) -> list[Kept]:
    """Without what former jobs of the name left. Times in objects are whole seconds: they do not suffice."""
    found = [one for one in kept.find(root, namespace, job) if _is_since(one, since)]
    return [one for one in found if one.note.owner == found[-1].note.owner]


def _is_since(one: Kept, since: datetime | None) -> bool:
    return since is None or one.note.started is None or one.note.started >= since


def has_lines(found: list[Kept]) -> bool:
    """Whether any container wrote any: there is a file for each that has begun."""
    return any(file.stat().st_size for one in found for file in one.folder.glob("*/*"))
