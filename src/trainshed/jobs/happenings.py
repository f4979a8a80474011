"""Which events tell of a training job, also of those of its pods that are gone; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trainshed.controllers.v1jobs import replicas
from trainshed.jobs.belongings import Belongings
from trainshed.jobs.jobkinds import JobKind
from trainshed.kube import ages
from trainshed.kube.objects import Object, dig, text

_ANY = "[a-z0-9-]+"
_MADE = ("Job", "Pod")


def of_job(events: Iterable[Object], kind: JobKind, job: Object, mine: Belongings) -> list[Object]:
    """Those about the job and what it has, in the order in which they happened.

    What is there is told by its uid: others may have names that begin like the job's, or the same one. What
    is gone has left its name alone.
    """
    there = [job, *([mine.jobset] if mine.jobset else []), *mine.jobs, *mine.pods]
    uids = {text(one, "metadata", "uid") for one in there}
    names, began = _names(kind, job, mine.jobset), text(job, "metadata", "creationTimestamp")
    found = [
        event
        for event in events
        if text(event, "involvedObject", "uid") in uids or _is_of_gone(event, names, began)
    ]
    return sorted(found, key=when)


def when(event: Object) -> str:
    times: Iterable[str] = (
        text(event, "lastTimestamp"),
        text(event, "eventTime"),
        text(event, "firstTimestamp"),
    )
    return next((time for time in times if time), text(event, "metadata", "creationTimestamp"))


def _is_of_gone(event: Object, names: re.Pattern[str], began: str) -> bool:
    if text(event, "involvedObject", "kind") not in _MADE:
        return False
    at, since = ages.parse_timestamp(when(event)), ages.parse_timestamp(began)
    is_later = at is None or since is None or at >= since
    return is_later and names.fullmatch(text(event, "involvedObject", "name")) is not None


def _names(kind: JobKind, job: Object, jobset: Object | None) -> re.Pattern[str]:
    """What Jobs and pods of the job are called: `train-node-0`, `train-node-0-1-x7k2p`, `train-worker-1`."""
    name = re.escape(text(job, "metadata", "name"))
    if kind.family is not None:
        roles = [replica.label for replica in replicas.read(kind.family, job)]
        return re.compile(rf"{name}-(?:{_either(roles)})(?:-\d+)?")
    parts = [text(part, "name") for part in dig(jobset, "spec", "replicatedJobs") or []]
    return re.compile(rf"{name}-(?:{_either(parts)})-\d+(?:-\d+)?(?:-[a-z0-9]{{5}})?")


def _either(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, words)) or _ANY
