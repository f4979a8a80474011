"""What a job that has its pods still waits for: containers that go before the training, and each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trainshed.controllers.trainjob import ranks
from trainshed.controllers.trainjob.verdicts import Verdict, can_spare, waiting
from trainshed.kinds.core import podstates
from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import entries, is_true, number
from trainshed.kube import conditions, verdicts
from trainshed.kube.objects import Object, dig, text

UNHEALTHY = "Unhealthy"
"""Reason of the events by which an agent tells that a probe fails."""
INIT_RUNS = "InitContainerRunning"
HARMLESS = frozenset({INIT_RUNS})
"""Reasons that are no trouble: fetching code or data takes its time."""


class Delay(NamedTuple):
    reason: str
    why: str
    probe: str = ""
    """The kind of probe that has to succeed, as events begin: `Startup`."""
    pods: tuple[Object, ...] = ()
    """Those whose events may tell why it does not."""


def found(jobset: Object | None, jobs: Sequence[Object], pods: Sequence[Object]) -> list[Delay]:
    """What lasts a moment in a job that gets on."""
    if jobset is None:
        return []
    slow = (_of_pod(pod, jobset) for pod in pods if not can_spare(pod, pods))
    return [*filter(None, slow), *_of_parts(jobset, jobs, pods)]


def said(delay: Delay, events: Iterable[Object]) -> Verdict:
    """The verdict, with what the newest event says of the probe."""
    start = f"{delay.probe} probe failed:"
    told = [event for event in events if delay.probe and text(event, "message").startswith(start)]
    newest = max(told, key=lambda event: text(event, "lastTimestamp"), default=None)
    if newest is None:
        return waiting(delay.reason, delay.why)
    words = verdicts.cause(text(newest, "message").removeprefix(start))
    said = f"{delay.why}: {delay.probe.lower()} probe failed"
    return waiting(delay.reason, f"{said}: {words}" if words else said)


# --- containers -------------------------------------------------------------------------------------------


def _of_pod(pod: Object, jobset: Object) -> Delay | None:
    if not podstates.is_starting(pod):
        return None
    slow, who = podstates.going_before(pod), ranks.name_of(pod, jobset)
    if slow is None:
        return Delay("PodNotStarted", f"{who}: node {text(pod, 'spec', 'nodeName')} has not started it")
    if not slow.is_sidecar:
        return Delay(INIT_RUNS, f"{who}: {slow.words}")
    return Delay("SidecarNotStarted", f"{who}: {slow.words}", "Startup", (pod,))


# --- parts of a job that wait for others ------------------------------------------------------------------


def _of_parts(jobset: Object, jobs: Sequence[Object], pods: Sequence[Object]) -> Iterator[Delay]:
    """Those that begin when others are ready, while some of these are not."""
    begun = {_step(job) for job in jobs if not is_true(job, "spec", "suspend")}
    for part, other in _waits(jobset):
        name = text(part, "name")
        if name in begun or text(other, "name") not in begun:
            continue
        mine = [pod for pod in pods if _step(pod) == text(other, "name")]
        late = [pod for pod in mine if not _is_ready(pod)]
        if late:
            count = f"{len(mine) - len(late)} of {_size(other)} ready"
            why = f"{name} waits for {text(other, 'name')} ({count})"
            yield Delay("DependencyNotReady", why, "Readiness", tuple(late))


def _waits(jobset: Object) -> Iterator[tuple[Object, Object]]:
    """Each part and one that has to be ready before it."""
    parts = entries(jobset, "spec", "replicatedJobs")
    by_name = {text(part, "name"): part for part in parts}
    for part in parts:
        for one in entries(part, "dependsOn"):
            if text(one, "status") == "Ready" and text(one, "name") in by_name:
                yield part, by_name[text(one, "name")]
    if text(jobset, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder":
        yield from zip(parts[1:], parts, strict=False)


def _size(part: Object) -> int:
    replicas = number(part, "replicas")
    return (1 if replicas is None else replicas) * (number(part, "template", "spec", "parallelism") or 1)


def _step(obj: Object) -> str:
    return text(obj, "metadata", "labels", labels.REPLICATED_JOB)


def _is_ready(pod: Object) -> bool:
    is_over = text(pod, "status", "phase") in ("Succeeded", "Failed")
    return is_over or conditions.is_true(dig(pod, "status", "conditions"), "Ready")
