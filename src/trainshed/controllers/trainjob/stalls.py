"""What keeps a job from starting though no pod says so: pods that are missing, or that nobody places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from trainshed.controllers.trainjob.verdicts import Verdict, waiting
from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import is_true, number
from trainshed.kube import conditions, owners, verdicts
from trainshed.kube.objects import Object, dig, text

PATIENCE: Final = 5.0
"""Seconds a healthy job needs at most to have its pods placed; also the time between two looks."""
REFUSED: Final = "FailedCreate"
_SCHEDULERS: Final = ("", "default-scheduler")
_MANAGERS: Final = ("", "kubernetes.io/job-controller")
_BEGUN: Final = ("active", "ready", "succeeded", "failed")
_PREFIX: Final = "Error creating: "
_QUOTA: Final = re.compile(r"exceeded quota: .*")
"""What to do about it is to wait or to ask for less; whose pod it was adds nothing."""
_POD_NAME: Final = re.compile(r'\bpods? "[^"]*"', re.IGNORECASE)


@dataclass(slots=True)
class Stall:
    """Since when something is missing, and what was found out about it."""

    since: datetime
    asked: datetime | None = None
    verdict: Verdict | None = None

    def seconds(self, now: datetime) -> float:
        return (now - self.since).total_seconds()

    def is_fresh(self, now: datetime, patience: float) -> bool:
        """Whether what was found out need not be asked again yet."""
        return self.asked is not None and (now - self.asked).total_seconds() < patience


class Missing(NamedTuple):
    """What would be there in a job that gets on."""

    jobs: Sequence[Object]
    """Jobs with fewer pods than they want."""
    pods: Sequence[Object]
    """Pods left to somebody else's scheduler."""
    jobsets: Sequence[Object] = ()
    """A JobSet left to somebody else's controller, which has not begun."""


def missing(jobs: Sequence[Object], pods: Sequence[Object], jobset: Object | None = None) -> Missing:
    short = [job for job in jobs if _is_active(job) and not _is_elsewhere(job) and _is_short(job, pods)]
    foreign = [jobset] if jobset is not None and _is_foreign(jobset) and not jobs else []
    return Missing(short, [pod for pod in pods if _is_left_to_others(pod)], foreign)


def said(found: Missing) -> Verdict | None:
    """The verdict that needs no further questions."""
    for jobset in found.jobsets:
        name, manager = text(jobset, "metadata", "name"), text(jobset, "spec", "managedBy")
        return waiting("ManagedByOther", f"jobset {name} is managed by {manager}, which has not started it")
    for job in found.jobs:
        if (manager := _manager(job)) not in _MANAGERS:
            name = text(job, "metadata", "name")
            return waiting("ManagedByOther", f"job {name} is managed by {manager}, which has not started it")
    for pod in found.pods:
        name, scheduler = text(pod, "metadata", "name"), text(pod, "spec", "schedulerName")
        why = f'pod {name} is left to the scheduler "{scheduler}", which has not placed it'
        return waiting("OtherScheduler", why)
    return None


def refused(job: Object, events: Iterable[Object], pods: Iterable[Object]) -> Verdict | None:
    """What the Job's newest event says, unless a pod was created since."""
    newest = max((event for event in events if _is_refusal(event)), key=_when, default=None)
    made = max((text(pod, "metadata", "creationTimestamp") for pod in _of(job, pods)), default="")
    if newest is None or _when(newest) < made:
        return None
    name, message = text(job, "metadata", "name"), text(newest, "message")
    if quota := _QUOTA.search(message):
        return waiting(REFUSED, verdicts.cause(quota[0]))
    return waiting(REFUSED, f"job {name} cannot create pods: {_nameless(message, name)}")


def _nameless(message: str, job: str) -> str:
    """Each attempt has a pod of another name; the words should not change with it."""
    return verdicts.cause(_POD_NAME.sub(f'pods "{job}-*"', message.removeprefix(_PREFIX), count=1))


def failure(jobs: Iterable[Object]) -> str:
    """What the Job that failed first says itself: `job t-node-0: DeadlineExceeded: Job was active …`."""
    found = [
        (text(end, "lastTransitionTime"), text(job, "metadata", "name"), end) for job, end in _ends(jobs)
    ]
    for _, name, end in sorted(found, key=lambda entry: entry[:2]):
        return ": ".join(part for part in (f"job {name}", text(end, "reason"), text(end, "message")) if part)
    return ""


def _ends(jobs: Iterable[Object]) -> Iterator[tuple[Object, Object]]:
    for job in jobs:
        end = conditions.find(dig(job, "status", "conditions"), "Failed")
        if end is not None and end.get("status") == "True":
            yield job, end


# --- jobs and pods ----------------------------------------------------------------------------------------


def is_new(job: Object) -> bool:
    """Whether a Job has yet to be taken up by its controller."""
    return _is_active(job) and not text(job, "status", "startTime")


def _is_active(job: Object) -> bool:
    ended = any(conditions.is_true(dig(job, "status", "conditions"), end) for end in ("Complete", "Failed"))
    return not (ended or is_true(job, "spec", "suspend") or text(job, "metadata", "deletionTimestamp"))


def _is_elsewhere(job: Object) -> bool:
    """Whether somebody else runs it, with pods that are not seen here."""
    return _manager(job) not in _MANAGERS and bool(text(job, "status", "startTime"))


def _manager(job: Object) -> str:
    return text(job, "spec", "managedBy")


def _is_foreign(jobset: Object) -> bool:
    """Whether another controller was asked to look after it, and shows no sign of having begun."""
    is_other = text(jobset, "spec", "managedBy") not in ("", labels.MANAGER)
    counts = dig(jobset, "status", "replicatedJobsStatus") or []
    return is_other and not any(entry.get(state) for entry in counts for state in _BEGUN)


def _is_short(job: Object, pods: Iterable[Object]) -> bool:
    parallelism, completions = number(job, "spec", "parallelism"), number(job, "spec", "completions")
    wanted = 1 if parallelism is None else parallelism
    if completions is not None:
        wanted = min(wanted, completions - (number(job, "status", "succeeded") or 0))
    alive = [pod for pod in _of(job, pods) if text(pod, "status", "phase") not in ("Succeeded", "Failed")]
    return len(alive) < wanted


def _of(job: Object, pods: Iterable[Object]) -> list[Object]:
    return [pod for pod in pods if owners.is_controlled_by(pod, job)]


def _is_left_to_others(pod: Object) -> bool:
    is_waiting = text(pod, "status", "phase") in ("", "Pending") and not text(pod, "spec", "nodeName")
    return is_waiting and text(pod, "spec", "schedulerName") not in _SCHEDULERS


def _is_refusal(event: Object) -> bool:
    return event.get("type") == "Warning" and event.get("reason") == REFUSED


def _when(event: Object) -> str:
    given = (
        text(event, "lastTimestamp"),
        text(event, "eventTime"),
        text(event, "metadata", "creationTimestamp"),
    )
    return next((moment for moment in given if moment), "")
