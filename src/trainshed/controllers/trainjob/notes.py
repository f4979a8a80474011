"""Annotations of ours on TrainJobs, as far as they say nothing: whoever wrote them should hear of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.controllers.trainjob import lifetimes, retries
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import Object

IGNORED: Final = "AnnotationIgnored"


def ignored(job: Object) -> Iterator[tuple[str, str]]:
    """The path of each, and what is wrong with it."""
    given = mapping(job, "metadata", "annotations")
    readings = {
        lifetimes.TTL_ANNOTATION: (lifetimes.annotated_ttl, "a whole number of seconds"),
        retries.ANNOTATION: (retries.asked, "a whole number of retries"),
    }
    for name, (read, wanted) in readings.items():
        if name in given and read(job) is None:
            yield f"metadata.annotations[{name}]", f'"{given[name]}" is ignored: give {wanted}, such as "60"'
