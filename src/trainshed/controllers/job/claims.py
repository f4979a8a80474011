"""Whose a pod is: a Job's own, one to adopt, one to release, or one whose Job is gone; pure."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

from trainshed.controllers.job import pods, specs
from trainshed.controllers.job.specs import TRACKING
from trainshed.kube import owners, selectors
from trainshed.kube.objects import Object, decode, dig, encode
from trainshed.kube.selectors import LabelSelector

Fate = Literal["own", "adopt", "release", "free", "leave"]
"""`free`: nobody will count it any more, so the finalizer goes; `leave`: none of our business."""

NOTHING: Final = selectors.NOTHING


def selector_of(job: Object) -> LabelSelector:
    return _read(encode(dig(job, "spec", "selector")))


@lru_cache(maxsize=4096)
def _read(selector: bytes) -> LabelSelector:
    """Remembered: a Job asks for its pods several times in each of its passes."""
    return selectors.from_object(decode(selector))


def job_name_of(pod: Object) -> str:
    """The name of the Job that controls the pod; empty where none does."""
    controller = owners.controller_of(pod) or {}
    is_job = controller.get("kind") == "Job" and str(controller.get("apiVersion")).startswith("batch/")
    return str(controller.get("name") or "") if is_job else ""


def fate(pod: Object, name: str, job: Object | None, selector: LabelSelector = NOTHING) -> Fate:
    """What a pod is to the Job of a name, or to the place where there is none any more."""
    controller = owners.controller_of(pod)
    if controller is None:
        return _of_orphan(pod, job, selector)
    if job_name_of(pod) != name:
        return "leave"
    if job is None or controller.get("uid") != job["metadata"]["uid"]:
        return _freed(pod)
    if not specs.is_ours(job):
        return "leave"
    if specs.is_finished(job):
        return _freed(pod)
    if selector.matches(dig(pod, "metadata", "labels")):
        return "own"
    return "leave" if specs.is_leaving(job) else "release"


def _of_orphan(pod: Object, job: Object | None, selector: LabelSelector) -> Fate:
    if job is None or specs.is_finished(job) or specs.is_leaving(job):
        return _freed(pod)
    if not specs.is_ours(job):
        return "leave"
    fits = selector.matches(dig(pod, "metadata", "labels"))
    return "adopt" if fits and not pods.is_leaving(pod) else _freed(pod)


def _freed(pod: Object) -> Fate:
    return "free" if pods.is_tracked(pod) else "leave"


# --- patches ------------------------------------------------------------------------------------------------
# With the uid in them, a patch for one pod never changes a later one of the same name.


def freeing(pod: Object) -> Object:
    """The patch that takes off the tracking finalizer, whatever else has changed."""
    return {"metadata": {"uid": pods.uid_of(pod), "$deleteFromPrimitiveList/finalizers": [TRACKING]}}


def adopting(pod: Object, job: Object) -> Object:
    meta = {"ownerReferences": [owners.reference_to(job)], "finalizers": [TRACKING]}
    return {"metadata": {"uid": pods.uid_of(pod), **meta}}


def releasing(pod: Object, job: Object) -> Object:
    let_go = {"ownerReferences": [{"$patch": "delete", "uid": job["metadata"]["uid"]}]}
    patch: Object = freeing(pod)
    patch["metadata"] |= let_go
    return patch
