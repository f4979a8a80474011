"""What the controller reads of a Job: its spec as a view, its identity and its end."""

from __future__ import annotations

from typing import Final

import msgspec

from trainshed.kube import conditions
from trainshed.kube.objects import Object, dig, text

TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""The finalizer of a pod that has not been counted yet."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAME: Final = "batch.kubernetes.io/job-name"
CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

_OURSELVES: Final = "kubernetes.io/job-controller"


class ExitCodes(msgspec.Struct, frozen=True, rename="camel"):
    operator: str
    values: tuple[int, ...] = ()
    container_name: str | None = None


class PodCondition(msgspec.Struct, frozen=True):
    type: str
    status: str = "True"


class FailureRule(msgspec.Struct, frozen=True, rename="camel"):
    action: str
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[PodCondition, ...] | None = None


class FailurePolicy(msgspec.Struct, frozen=True):
    rules: tuple[FailureRule, ...] = ()


class SuccessRule(msgspec.Struct, frozen=True, rename="camel"):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(msgspec.Struct, frozen=True):
    rules: tuple[SuccessRule, ...] = ()


class JobSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The fields that decide; the pod template stays in the object."""

    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    pod_replacement_policy: str = "TerminatingOrFailed"
    pod_failure_policy: FailurePolicy | None = None
    success_policy: SuccessPolicy | None = None

    @property
    def is_indexed(self) -> bool:
        return self.completion_mode == "Indexed"

    @property
    def waits_for_failure(self) -> bool:
        """Whether a pod that is merely leaving is neither failed nor to be replaced yet."""
        return self.pod_replacement_policy == "Failed"

    @property
    def indexes(self) -> range:
        """The indexes there are; none where pods are not told apart."""
        return range(self.completions or 0) if self.is_indexed else range(0)


def read(job: Object) -> JobSpec:
    """The view of a Job's spec; fields that are null have their default."""
    given = {key: value for key, value in (job.get("spec") or {}).items() if value is not None}
    return msgspec.convert(given, JobSpec)


def restarts_in_place(job: Object) -> bool:
    return text(job, "spec", "template", "spec", "restartPolicy") == "OnFailure"


def is_ours(job: Object) -> bool:
    """Whether no other controller was asked to manage the Job."""
    return text(job, "spec", "managedBy") in ("", _OURSELVES)


def is_finished(job: Object) -> bool:
    said = dig(job, "status", "conditions")
    return conditions.is_true(said, "Complete") or conditions.is_true(said, "Failed")


def is_leaving(job: Object) -> bool:
    return bool(dig(job, "metadata", "deletionTimestamp"))
