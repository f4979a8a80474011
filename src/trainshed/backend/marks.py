"""What the objects of one submission carry, so that any later look can tell whose they are; pure.

All have the same mark. A ConfigMap is pending until it is owned by its job; what stays pending was left by a
process that ended in the middle, and the janitor sees to it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from trainshed.kube import ages
from trainshed.kube.objects import Object, metadata, text

MARK = "trainshed.dev/submission"
PENDING = "trainshed.dev/pending"
CODE_OF = "trainshed.dev/code-of"
TOUCHED = "trainshed.dev/touched"
API_VERSION = "trainer.kubeflow.org/v1alpha1"
_AHEAD = timedelta(minutes=1)


def marked(obj: Object, mark: str) -> Object:
    meta = {**metadata(obj)}
    meta["annotations"] = {**(meta.get("annotations") or {}), MARK: mark}
    return {**obj, "metadata": meta}


def pending(obj: Object) -> Object:
    meta = {**metadata(obj)}
    meta["labels"] = {**(meta.get("labels") or {}), PENDING: "true"}
    return {**obj, "metadata": meta}


def mark_of(obj: Object | None) -> str:
    return text(obj, "metadata", "annotations", MARK)


def name_of(obj: Object) -> str:
    return text(obj, "metadata", "name")


def is_pending(obj: Object) -> bool:
    return bool(text(obj, "metadata", "labels", PENDING))


def owned_by(job: Object, uid: str) -> Object:
    """The change that makes the ConfigMap with this uid, and no later one of its name, go with its job."""
    owner = {
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        "name": name_of(job),
        "uid": text(job, "metadata", "uid"),
    }
    return {"metadata": {"uid": uid, "labels": {PENDING: None}, "ownerReferences": [owner]}}


def belonging(obj: Object, config_map: Object) -> Object:
    """An object that goes when the ConfigMap goes."""
    uid = text(config_map, "metadata", "uid")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": name_of(config_map), "uid": uid}
    return {**obj, "metadata": {**metadata(obj), "ownerReferences": [owner]}}


def touched(moment: datetime, revision: str = "") -> Object:
    """The change that tells everybody else that somebody is at work here; refused where they changed it."""
    meta: Object = {"annotations": {TOUCHED: ages.timestamp(moment)}}
    return {"metadata": {**meta, "resourceVersion": revision} if revision else meta}


def idle_seconds(obj: Object, now: datetime) -> float:
    """Since when nobody has been at work on it, as far as it tells."""
    told = (text(obj, "metadata", "creationTimestamp"), text(obj, "metadata", "annotations", TOUCHED))
    moments = [moment for moment in map(ages.parse_timestamp, told) if moment is not None]
    # Clocks differ a little; a time far ahead is no clock's, and would protect it for ever.
    past = [moment for moment in moments if moment <= now + _AHEAD]
    return (now - max(past)).total_seconds() if past else 0.0
