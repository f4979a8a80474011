"""ttlSecondsAfterFinished of single Jobs: it begins to count when the whole JobSet has finished.

Upstream passes it on at once. A finished initializer then removes itself while the training still runs, is
missed, made again, and runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainshed.controllers.jobset.children import is_leaving, replicated_job_of
from trainshed.controllers.jobset.plan import Patch
from trainshed.controllers.jobset.replicated import ReplicatedJob
from trainshed.kinds.reading import number
from trainshed.kube.objects import Object


def grants(jobs: Iterable[ReplicatedJob], children: Iterable[Object]) -> Iterator[Patch]:
    """Give the Jobs of a finished JobSet the time to live that their templates name."""
    given = {job.name: number(job.template, "spec", "ttlSecondsAfterFinished") for job in jobs}
    for job in children:
        seconds = given.get(replicated_job_of(job))
        if (
            seconds is not None
            and number(job, "spec", "ttlSecondsAfterFinished") is None
            and not is_leaving(job)
        ):
            uid = job["metadata"]["uid"]
            yield Patch(job, {"metadata": {"uid": uid}, "spec": {"ttlSecondsAfterFinished": seconds}})
