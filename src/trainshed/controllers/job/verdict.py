"""Whether a Job is over, and why. A verdict stands: what was said once is not judged again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from trainshed.controllers.job import deadline, failure_policy, pods, restarts, specs, success_policy
from trainshed.controllers.job.observed import Observed
from trainshed.controllers.job.tally import Tally
from trainshed.kube import conditions
from trainshed.kube.objects import Object

End = Literal["Complete", "Failed"]
TARGETS: dict[End, str] = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}
"""The condition that announces an end while pods are still leaving."""


@dataclass(frozen=True, slots=True)
class Verdict:
    end: End
    reason: str
    message: str

    @property
    def target(self) -> str:
        return TARGETS[self.end]


def judge(seen: Observed, tally: Tally) -> Verdict | None:
    """The verdict that ends a Job even while pods run; failures are asked for before successes."""
    return announced(seen.status) or next(_reasons(seen, tally), None)


def announced(status: Object) -> Verdict | None:
    """The verdict of an earlier pass, from the condition that announced it."""
    ends: tuple[End, ...] = ("Complete", "Failed")
    for end in ends:
        if conditions.is_true(status.get("conditions"), TARGETS[end]):
            found = conditions.find(status.get("conditions"), TARGETS[end]) or {}
            return Verdict(end, found.get("reason") or "", found.get("message") or "")
    return None


def completed(seen: Observed, tally: Tally) -> Verdict | None:
    """The verdict when all is done and nothing runs; without `completions`, one success is all."""
    enough = 1 if seen.spec.completions is None else seen.spec.completions
    if tally.active or tally.succeeded < enough:
        return None
    return Verdict("Complete", "CompletionsReached", "Reached expected number of succeeded pods")


def _reasons(seen: Observed, tally: Tally) -> Iterator[Verdict]:
    """In upstream's order, which decides when several apply."""
    spec = seen.spec
    if message := _failed_by_policy(seen):
        yield Verdict("Failed", "PodFailurePolicy", message)
    if tally.failed > spec.backoff_limit or _restarted_too_often(seen):
        yield Verdict("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = deadline.seconds_left(spec, seen.status.get("startTime"), seen.now)
    if left is not None and left <= 0:
        yield Verdict("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
    if tally.failed_indexes is not None:
        yield from _failed_indexes(seen, tally, len(tally.failed_indexes))
    if message := success_policy.met(spec, tally.succeeded_indexes):
        yield Verdict("Complete", "SuccessPolicy", message)


def _failed_by_policy(seen: Observed) -> str:
    for pod in seen.pods:
        if seen.spec.pod_failure_policy and pods.has_failed(pod, seen.spec):
            match = failure_policy.match(seen.spec.pod_failure_policy, pod)
            if match.fails_job:
                return match.message
    return ""


def _restarted_too_often(seen: Observed) -> bool:
    return specs.restarts_in_place(seen.job) and restarts.exceed(seen.spec.backoff_limit, seen.pods)


def _failed_indexes(seen: Observed, tally: Tally, failed: int) -> Iterator[Verdict]:
    most = seen.spec.max_failed_indexes
    if most is not None and failed > most:
        why = "Job has exceeded the specified maximal number of failed indexes"
        yield Verdict("Failed", "MaxFailedIndexesExceeded", why)
    if failed and failed + len(tally.succeeded_indexes) >= (seen.spec.completions or 0):
        yield Verdict("Failed", "FailedIndexes", "Job has failed indexes")
