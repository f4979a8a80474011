"""What is due for a pod whose node may be gone; pure."""

from __future__ import annotations

from typing import Literal

from trainshed.kube import conditions
from trainshed.kube.objects import JSON, Object, dig, text

Due = Literal["nothing", "fail", "remove"]


def node_of(pod: Object) -> str:
    return text(pod, "spec", "nodeName")


def due(pod: Object) -> Due:
    """For a pod on a node that does not exist: it has failed, and one that was deleted is to go for good."""
    if not dig(pod, "metadata", "deletionTimestamp"):
        return "nothing" if is_over(pod) else "fail"
    # Without any grace left, only finalizers hold it: they are their owners' business.
    return "nothing" if is_over(pod) and dig(pod, "metadata", "deletionGracePeriodSeconds") == 0 else "remove"


def is_over(pod: Object) -> bool:
    return text(pod, "status", "phase") in ("Succeeded", "Failed")


def failed(pod: Object, now: str) -> JSON:
    """The change of status of a pod that went down with its node."""
    why = f"node {node_of(pod)} does not exist"
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": why,
        "lastTransitionTime": now,
    }
    found = [disrupted]
    if conditions.is_true(dig(pod, "status", "conditions"), "Ready"):
        found.append({"type": "Ready", "status": "False", "reason": "PodFailed", "lastTransitionTime": now})
    return {
        # One that comes after all, and whose agent has written meanwhile, is looked at again.
        "metadata": {"resourceVersion": text(pod, "metadata", "resourceVersion")},
        "status": {"phase": "Failed", "reason": "NodeLost", "message": why, "conditions": found},
    }
