"""How often a whole job begins anew after a failure, where its TrainJob says so itself.

Upstream leaves that to runtimes, whose Jobs start a failing container six times; somebody who runs a script
by hand wants to hear of its fault at once. TrainJobs have no field for it, so an annotation says it.
"""

from __future__ import annotations

from typing import Final

from trainshed.controllers.trainjob.draft import Draft
from trainshed.kinds.reading import child
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, text

ANNOTATION: Final = "trainshed.dev/retries"
SOURCE: Final = f"annotation {ANNOTATION}"


def asked(job: Object) -> int | None:
    """None where nothing, or no number, is said."""
    given = text(job, "metadata", "annotations", ANNOTATION)
    return whole(given, most=99_999)


def limit(draft: Draft) -> None:
    """Any failure ends the attempt, for all pods at once; the JobSet begins so many others."""
    retries = asked(draft.job)
    if retries is None:
        return
    for job in draft.jobs:
        spec = child(child(job, "template"), "spec")
        spec["backoffLimit"] = 0
        for own in ("backoffLimitPerIndex", "maxFailedIndexes"):
            spec.pop(own, None)
        child(child(spec, "template"), "spec")["restartPolicy"] = "Never"
    if retries or "failurePolicy" in draft.spec:
        child(draft.spec, "failurePolicy")["maxRestarts"] = retries
