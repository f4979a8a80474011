"""What happens when a pod fails: v1's policies as fields of the Jobs of a runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from trainshed.jobs.converting.findings import Findings
from trainshed.jobs.converting.parcels import Path
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object

DEFAULT_LIMIT: Final = 6
"""What Jobs have where nothing is said."""
_LIMIT: Final = ("spec", "runPolicy", "backoffLimit")
_PERMANENT: Final = list(range(1, 128))
_MORE: Final = "set backoffLimit in a runtime's Job template for more"


@dataclass(frozen=True, slots=True)
class Restarts:
    pod_policy: str = "OnFailure"
    job: Object = field(default_factory=dict)
    """Fields of the Job template."""

    @property
    def is_usual(self) -> bool:
        """Is it what every runtime does that says nothing about it?"""
        return self.pod_policy == "OnFailure" and not self.job


def settled(policy: str, limit: int | None, path: Path, findings: Findings, *, is_alone: bool) -> Restarts:
    """`path` is that of the replica; `is_alone` says that one Job makes all pods and counts for them."""
    place = (*path, "restartPolicy")
    match policy:
        case "Never":
            return _never(limit, findings)
        case "ExitCode":
            return _by_exit_code(limit, place, findings)
        case "OnFailure" | "Always":
            return _on_failure(policy, limit, place, findings, is_alone)
    why = f'"{policy}" is no restart policy: pods are not restarted'
    findings.lost(place, why, "name OnFailure, Never, Always or ExitCode")
    return _never(limit, findings)


def of_job(policy: str, limit: int | None, path: Path, findings: Findings) -> Restarts:
    """Of what was a Job already: with what it has; `path` is that of the replica."""
    counted: Object = {} if limit is None else {"backoffLimit": limit}
    if policy in ("Never", "ExitCode"):
        return Restarts("Never", counted)
    if policy != "OnFailure":
        why = f'"{policy}" is OnFailure: the pod is that of a Job, as before, and Jobs refuse other policies'
        findings.changed((*path, "restartPolicy"), why, "name OnFailure or Never")
    return Restarts("OnFailure", counted)


def _never(limit: int | None, findings: Findings) -> Restarts:
    if limit is not None:
        findings.needless(_LIMIT, "without restarts the first failure ends the job, as in v1")
    return Restarts("Never", {"backoffLimit": 0})


def _on_failure(policy: str, limit: int | None, place: Path, findings: Findings, is_alone: bool) -> Restarts:
    if policy == "Always":
        why = "Jobs do not restart what has succeeded: a pod that ends well has ended"
        findings.changed(place, f"Always is OnFailure: {why}; in v1 such a job never completed")
    if limit is None:
        why = f"v1 restarts containers without end, here the restart number {DEFAULT_LIMIT} fails the job"
        findings.changed(place, why, _MORE)
        return Restarts()
    if not is_alone and limit > 1:  # with less, the first restart of any pod is one too many in both
        why = "each Job of the JobSet counts the restarts of its own pods; v1 those of all pods together"
        findings.changed(_LIMIT, why, "take a smaller one if the sum matters")
    elif limit == DEFAULT_LIMIT:
        findings.needless(_LIMIT, f"{DEFAULT_LIMIT} is what Jobs have by default, counted as in v1")
    return Restarts() if limit == DEFAULT_LIMIT else Restarts("OnFailure", {"backoffLimit": limit})


def _by_exit_code(limit: int | None, place: Path, findings: Findings) -> Restarts:
    """Codes from 128 on (signals), and pods that were evicted, are tried again; others are permanent."""
    counted = DEFAULT_LIMIT if limit is None else limit
    if limit != 0:
        why = f"v1 replaces pods that end with a code from 128 on without end, here {counted} times"
        findings.changed(place, why, _MORE)
    else:
        findings.needless(place, "with a backoffLimit of 0 no code is tried again, as in v1")
    exits = {"containerName": templates.NODE, "operator": "In", "values": list(_PERMANENT)}
    rules = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
        {"action": "FailJob", "onExitCodes": exits},
    ]
    job: Object = {"podFailurePolicy": {"rules": rules}}
    return Restarts("Never", {"backoffLimit": counted, **job} if limit is not None else job)
