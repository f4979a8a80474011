"""Logs of pods that are gone: earlier attempts, and jobs that were deleted; from the data folder itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from trainshed.client.client import Client
from trainshed.jobs import summary
from trainshed.jobs.jobkinds import JobKind
from trainshed.kube.objects import Object, text
from trainshed.kube.owners import is_owned_by
from trainshed.runner.logs import kept
from trainshed.runner.logs.kept import Kept


@dataclass(frozen=True, slots=True)
class Claim:
    """Which of the lines under a job's name are its own: former jobs of that name have left some, too.

    Times in objects are whole seconds: they do not suffice.
    """

    since: datetime | None = None
    owners: frozenset[str] | None = None
    """As notes name them; None where the job is not there any more: whoever came last."""


OF_LAST: Final = Claim()


async def claim_of(client: Client, kind: JobKind, job: Object | None) -> Claim:
    """The claim of a job that is there, or of the last one that was."""
    if job is None:
        return OF_LAST
    since = summary.summarize(job).created
    if kind.family is not None:  # notes of earlier versions do not name v1 jobs
        return Claim(since, frozenset((text(job, "metadata", "uid"), "")))
    jobset = await client.find("jobsets", text(job, "metadata", "name"), text(job, "metadata", "namespace"))
    if jobset is None or not is_owned_by(jobset, job):  # that of a former job may be about to go
        return Claim(since, frozenset())
    return Claim(since, frozenset((text(jobset, "metadata", "uid"),)))


def find(
    root: Path, namespace: str, job: str, rank: int | None, attempt: int | None, claim: Claim = OF_LAST
) -> list[Kept]:
    """What a job's pods left, of the attempt asked for or of its last one."""
    there = [one for one in _own(root, namespace, job, claim) if rank in (None, one.note.index)]
    if attempt is None:
        attempt = max((one.note.attempt for one in there), default=0)
    return [one for one in there if one.note.attempt == attempt]


def attempts(root: Path, namespace: str, job: str, claim: Claim = OF_LAST) -> list[int]:
    return sorted({one.note.attempt for one in _own(root, namespace, job, claim)})


def _own(root: Path, namespace: str, job: str, claim: Claim) -> list[Kept]:
    found = [one for one in kept.find(root, namespace, job) if _is_since(one, claim.since)]
    owners = frozenset(one.note.owner for one in found[-1:]) if claim.owners is None else claim.owners
    return [one for one in found if one.note.owner in owners]


def _is_since(one: Kept, since: datetime | None) -> bool:
    return since is None or one.note.started is None or one.note.started >= since


def has_lines(found: list[Kept]) -> bool:
    """Whether any container wrote any: there is a file for each that has begun."""
    return any(file.stat().st_size for one in found for file in one.folder.glob("*/*"))
