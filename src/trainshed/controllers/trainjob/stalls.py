"""What keeps a job from starting though no pod says so: pods that are missing, not placed, or slow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from trainshed.controllers.trainjob import delays
from trainshed.controllers.trainjob.delays import Delay
from trainshed.controllers.trainjob.verdicts import Verdict, waiting
from trainshed.kinds.core.events import NOT_ALLOWED
from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import entries, is_true, number
from trainshed.kube import conditions, owners, verdicts
from trainshed.kube.objects import Object, dig, text

PATIENCE: Final = 5.0
"""Seconds a healthy job needs at most to have its pods placed; also the time between two looks."""
REFUSED: Final = "FailedCreate"
_JOBSET_REFUSALS: Final = (
    "JobCreationFailed", "HeadlessServiceCreationFailed", "PVCCreationFailed", NOT_ALLOWED,
)  # fmt: skip
"""What JobSet controllers call it when the server refuses them something; the last is ours alone."""
_SCHEDULERS: Final = ("", "default-scheduler")
_MANAGERS: Final = ("", "kubernetes.io/job-controller")
_BEGUN: Final = ("active", "ready", "succeeded", "failed")
_PREFIX: Final = "Error creating: "
_QUOTA: Final = re.compile(r"exceeded quota: .*")
"""What to do about it is to wait or to ask for less; whose pod it was adds nothing."""


@dataclass(slots=True)
class Stall:
    """Since when something is missing, and what was found out about it."""

    since: datetime
    about: tuple[bool, ...] = ()
    """Which kinds of things are missing."""
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
    delays: Sequence[Delay] = ()
    """What is there and holds up the others."""
    parents: Sequence[Object] = ()
    """A JobSet of ours with fewer Jobs than it should have."""

    @property
    def about(self) -> tuple[bool, ...]:
        return tuple(map(bool, self))


def missing(jobs: Sequence[Object], pods: Sequence[Object], jobset: Object | None = None) -> Missing:
    short = [job for job in jobs if _is_active(job) and not _is_elsewhere(job) and _is_short(job, pods)]
    foreign = [jobset] if jobset is not None and _is_foreign(jobset) and not jobs else []
    childless = [jobset] if jobset is not None and _is_ours(jobset) and _lacks_jobs(jobset, jobs) else []
    left = [pod for pod in pods if _is_left_to_others(pod)]
    return Missing(short, left, foreign, delays.found(jobset, jobs, pods), childless)


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


def jobs_refused(jobset: Object, events: Iterable[Object], jobs: Iterable[Object]) -> Verdict | None:
    """What the JobSet's newest event says, unless a Job was created since."""
    newest = _newest(events, _JOBSET_REFUSALS)
    if newest is None or _when(newest) <= _latest(_of(jobset, jobs)):
        return None
    name, why = text(jobset, "metadata", "name"), verdicts.cause(text(newest, "message"))
    return waiting(text(newest, "reason"), f"jobset {name} cannot start: {why}")


def refused(job: Object, events: Iterable[Object], pods: Iterable[Object]) -> Verdict | None:
    """What the Job's newest event says, unless a pod was created since."""
    newest = _newest(events, (REFUSED,))
    if newest is None or _when(newest) < _latest(_of(job, pods)):
        return None
    name, message = text(job, "metadata", "name"), text(newest, "message")
    if quota := _QUOTA.search(message):
        return waiting(REFUSED, verdicts.cause(quota[0]))
    why = verdicts.cause(verdicts.nameless(message.removeprefix(_PREFIX), name))
    return waiting(REFUSED, f"job {name} cannot create pods: {why}")


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
    return not (ended or _is_held(job) or text(job, "metadata", "deletionTimestamp"))


def _is_elsewhere(job: Object) -> bool:
    """Whether somebody else runs it, with pods that are not seen here."""
    return _manager(job) not in _MANAGERS and bool(text(job, "status", "startTime"))


def _manager(job: Object) -> str:
    return text(job, "spec", "managedBy")


def _is_ours(jobset: Object) -> bool:
    return text(jobset, "spec", "managedBy") in ("", labels.MANAGER)


def _is_foreign(jobset: Object) -> bool:
    """Whether another controller was asked to look after it, and shows no sign of having begun."""
    counts = dig(jobset, "status", "replicatedJobsStatus") or []
    return not _is_ours(jobset) and not any(entry.get(state) for entry in counts for state in _BEGUN)


def _lacks_jobs(jobset: Object, jobs: Sequence[Object]) -> bool:
    """Whether Jobs are missing, or still suspended, that have nothing to wait for."""
    in_order = text(jobset, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
    is_idle = not any(map(_is_active, jobs))
    begun = [text(job, "metadata", "labels", labels.REPLICATED_JOB) for job in jobs if not _is_held(job)]
    for part in entries(jobset, "spec", "replicatedJobs"):
        replicas = number(part, "replicas")
        may_begin = is_idle or not (in_order or entries(part, "dependsOn"))
        if may_begin and begun.count(text(part, "name")) < (1 if replicas is None else replicas):
            return True
    return False


def _is_held(job: Object) -> bool:
    return is_true(job, "spec", "suspend")


def _is_short(job: Object, pods: Iterable[Object]) -> bool:
    parallelism, completions = number(job, "spec", "parallelism"), number(job, "spec", "completions")
    wanted = 1 if parallelism is None else parallelism
    if completions is not None:
        wanted = min(wanted, completions - (number(job, "status", "succeeded") or 0))
    alive = [pod for pod in _of(job, pods) if text(pod, "status", "phase") not in ("Succeeded", "Failed")]
    return len(alive) < wanted


def _of(owner: Object, found: Iterable[Object]) -> list[Object]:
    return [obj for obj in found if owners.is_controlled_by(obj, owner)]


def _latest(made: Iterable[Object]) -> str:
    return max((text(obj, "metadata", "creationTimestamp") for obj in made), default="")


def _is_left_to_others(pod: Object) -> bool:
    is_waiting = text(pod, "status", "phase") in ("", "Pending") and not text(pod, "spec", "nodeName")
    return is_waiting and text(pod, "spec", "schedulerName") not in _SCHEDULERS


def _newest(events: Iterable[Object], reasons: Sequence[str]) -> Object | None:
    told = (event for event in events if event.get("type") == "Warning" and event.get("reason") in reasons)
    return max(told, key=_when, default=None)


def _when(event: Object) -> str:
    given = (
        text(event, "lastTimestamp"),
        text(event, "eventTime"),
        text(event, "metadata", "creationTimestamp"),
    )
    return next((moment for moment in given if moment), "")
