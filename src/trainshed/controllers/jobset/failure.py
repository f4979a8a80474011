"""Failure policy: what a failed Job means for the JobSet, and what is written down about it.

Rules are asked in order; the first that fits any failed Job decides, about that of them which failed first.
Without a policy the JobSet fails; with one, but no rule that fits, it restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.controllers.jobset import attempts
from trainshed.controllers.jobset.children import failure_of, replicated_job_of
from trainshed.controllers.jobset.status import FAILED, RESTARTING, Draft
from trainshed.kinds.reading import entries, number, texts
from trainshed.kube import patterns
from trainshed.kube.objects import Object, dig, text

DEFAULT_ACTION: Final = "RestartJobSet"


@dataclass(frozen=True, slots=True)
class Verdict:
    action: str
    job: Object
    """The failed Job it is about."""
    rule: str = ""
    """The name of the rule that fitted; empty when none did."""

    def said(self, words: str) -> str:
        return f"{words} (first failed job: {self.job['metadata']['name']})"


def judged(jobset: Object, failed: Sequence[Object], draft: Draft) -> Draft:
    """The draft after the policy was applied to the failed Jobs (at least one)."""
    if not isinstance(dig(jobset, "spec", "failurePolicy"), dict):
        verdict = Verdict(FAILED, first_of(failed))
        return _failed(draft, "FailedJobs", verdict.said("jobset failed due to one or more job failures"))
    verdict = verdict_of(entries(jobset, "spec", "failurePolicy", "rules"), failed)
    return _APPLIED[verdict.action](jobset, verdict, draft)


def verdict_of(rules: Sequence[Object], failed: Sequence[Object]) -> Verdict:
    for rule in rules:
        matching = [job for job in failed if fits(rule, job)]
        if matching:
            return Verdict(text(rule, "action"), first_of(matching), text(rule, "name"))
    return Verdict(DEFAULT_ACTION, first_of(failed))


def fits(rule: Object, job: Object) -> bool:
    """Reason, message and replicated job must all fit; what a rule does not mention fits everything."""
    failure, replicated_job = failure_of(job), replicated_job_of(job)
    reasons, targets = texts(rule, "onJobFailureReasons"), texts(rule, "targetReplicatedJobs")
    words = texts(rule, "onJobFailureMessagePatterns")
    return bool(
        (not reasons or text(failure, "reason") in reasons)
        and (not words or any(_matches(pattern, text(failure, "message")) for pattern in words))
        and replicated_job
        and (not targets or replicated_job in targets)
    )


def first_of(failed: Sequence[Object]) -> Object:
    """The Job that failed first; times are whole seconds, so the order of the spec decides between equals."""
    return min(failed, key=lambda job: text(failure_of(job), "lastTransitionTime"))


def _matches(pattern: str, message: str) -> bool:
    try:
        return patterns.matches(pattern, message)
    except ValueError:  # not a regular expression: fits nothing, as upstream
        return False


# --- actions ----------------------------------------------------------------------------------------------


def _failed(draft: Draft, reason: str, message: str) -> Draft:
    draft = draft.claim(FAILED, reason, message, "Warning")
    return draft.deny(RESTARTING, "JobSetFailed", "jobset failed").put(terminalState=FAILED)


def _fail(jobset: Object, verdict: Verdict, draft: Draft) -> Draft:
    return _failed(draft, "FailJobSetFailurePolicyAction", _announced(verdict))


def _restart(jobset: Object, verdict: Verdict, draft: Draft) -> Draft:
    if _is_exhausted(jobset):
        return _exhausted(verdict, draft)
    counted = number(jobset, "status", "restartsCountTowardsMax") or 0
    return _restart_uncounted(jobset, verdict, draft.put(restartsCountTowardsMax=counted + 1))


def _restart_uncounted(jobset: Object, verdict: Verdict, draft: Draft) -> Draft:
    message = _announced(verdict)
    reason = f"FailurePolicy_{verdict.rule}" if verdict.rule else "DefaultFailurePolicy"
    draft = draft.put(restarts=attempts.current(jobset) + 1)
    draft = draft.claim(RESTARTING, reason, message, "Warning")
    return draft.tell("Warning", f"{verdict.action}FailurePolicyAction", message)


def _restart_job(jobset: Object, verdict: Verdict, draft: Draft) -> Draft:
    if _is_exhausted(jobset):
        return _exhausted(verdict, draft)
    return _restart_job_uncounted(jobset, verdict, _bumped(jobset, verdict.job, draft, attempts.COUNTED))


def _restart_job_uncounted(jobset: Object, verdict: Verdict, draft: Draft) -> Draft:
    draft = _bumped(jobset, verdict.job, draft, attempts.ALL)
    return draft.tell("Warning", f"{verdict.action}FailurePolicyAction", _announced(verdict))


_APPLIED: Final[Mapping[str, Callable[[Object, Verdict, Draft], Draft]]] = {
    "FailJobSet": _fail,
    "RestartJobSet": _restart,
    "RestartJobSetAndIgnoreMaxRestarts": _restart_uncounted,
    "RestartJob": _restart_job,
    "RestartJobAndIgnoreMaxRestarts": _restart_job_uncounted,
}


def _announced(verdict: Verdict) -> str:
    return verdict.said(f"applying {verdict.action} failure policy action")


def _is_exhausted(jobset: Object) -> bool:
    return attempts.counted(jobset) >= (number(jobset, "spec", "failurePolicy", "maxRestarts") or 0)


def _exhausted(verdict: Verdict, draft: Draft) -> Draft:
    message = verdict.said("jobset failed due to reaching max number of restarts")
    return _failed(draft, "ReachedMaxRestarts", message)


def _bumped(jobset: Object, job: Object, draft: Draft, counter: str) -> Draft:
    """One more restart of one Job alone, in the entry of its replicated job."""
    name, index = replicated_job_of(job), attempts.index_of(job)
    before = attempts.single(jobset, name, counter)
    size = max(_replicas(jobset, name), index + 1)
    counts = [before.get(place, 0) + (place == index) for place in range(size)]
    after = [
        {**entry, counter: counts} if entry.get("name") == name else entry
        for entry in entries(draft.status, "replicatedJobsStatus")
    ]
    return draft.put(replicatedJobsStatus=after)


def _replicas(jobset: Object, name: str) -> int:
    found = (job for job in entries(jobset, "spec", "replicatedJobs") if job.get("name") == name)
    return number(next(found, {}), "replicas") or 1
