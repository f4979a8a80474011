"""Startup policy: InOrder is one replicated job at a time, the next when all Jobs of the last started."""

from __future__ import annotations

from trainshed.controllers.jobset.counts import Counts
from trainshed.controllers.jobset.replicated import ReplicatedJob
from trainshed.controllers.jobset.status import STARTED, STARTING, Draft
from trainshed.kube.objects import Object, text


def is_in_order(jobset: Object) -> bool:
    return text(jobset, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"


def has_started(job: ReplicatedJob, counts: Counts) -> bool:
    return counts[job.name].started == job.replicas


def in_progress(draft: Draft) -> Draft:
    return draft.claim(STARTING, "InOrderStartupPolicyInProgress", "in order startup policy is in progress")


def completed(draft: Draft) -> Draft:
    return draft.claim(STARTED, "InOrderStartupPolicyCompleted", "in order startup policy has completed")
