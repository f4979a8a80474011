"""Defaults of a new JobSet that its schema cannot express: names by position, and an object inside a list."""

from __future__ import annotations

from trainshed.kinds.reading import entries, fill
from trainshed.kube.objects import Object


def apply(jobset: Object) -> None:
    for index, rule in enumerate(entries(jobset, "spec", "failurePolicy", "rules")):
        fill(rule, name=f"failurePolicyRule{index}")
    for policy in entries(jobset, "spec", "volumeClaimPolicies"):
        fill(policy, retentionPolicy={"whenDeleted": "Delete"})
