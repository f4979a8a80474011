"""Success policy: when enough Jobs have succeeded for the whole JobSet to be complete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainshed.controllers.jobset.children import replicated_job_of
from trainshed.controllers.jobset.replicated import ReplicatedJob, total
from trainshed.controllers.jobset.status import COMPLETED, RESTARTING, Draft
from trainshed.kinds.reading import texts
from trainshed.kube.objects import Object, text

MESSAGE = "jobset completed successfully"


def is_met(jobset: Object, jobs: Iterable[ReplicatedJob], succeeded: Sequence[Object]) -> bool:
    """Never by no success at all: a JobSet without Jobs does not complete (upstream's rule too)."""
    if not succeeded:
        return False
    targets = texts(jobset, "spec", "successPolicy", "targetReplicatedJobs")
    done = sum(not targets or replicated_job_of(job) in targets for job in succeeded)
    if text(jobset, "spec", "successPolicy", "operator") == "Any":
        return done >= 1
    return done >= total(job for job in jobs if not targets or job.name in targets)


def completed(draft: Draft) -> Draft:
    draft = draft.claim(COMPLETED, "AllJobsCompleted", MESSAGE)
    return draft.deny(RESTARTING, "JobSetCompleted", MESSAGE).put(terminalState=COMPLETED)
