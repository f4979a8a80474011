"""successPolicy: an Indexed Job may be done before all its indexes are."""

from __future__ import annotations

from trainshed.controllers.job import indexes
from trainshed.controllers.job.indexes import Indexes
from trainshed.controllers.job.specs import JobSpec, SuccessRule


def met(spec: JobSpec, succeeded: Indexes) -> str:
    """The message of the first rule that is met; empty when none is."""
    if spec.success_policy is None or not succeeded:
        return ""
    for index, rule in enumerate(spec.success_policy.rules):
        if _is_met(rule, succeeded, spec.completions or 0):
            return f"Matched rules at index {index}"
    return ""


def _is_met(rule: SuccessRule, succeeded: Indexes, completions: int) -> bool:
    if rule.succeeded_indexes is None:
        return rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count
    required = indexes.parse(rule.succeeded_indexes, completions)
    if not required:
        return False
    if rule.succeeded_count is not None and len(required & succeeded) >= rule.succeeded_count:
        return True
    return required <= succeeded
