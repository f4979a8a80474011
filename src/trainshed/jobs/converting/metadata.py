"""The metadata of a converted object, and what in a manifest only repeats what holds anyway."""

from __future__ import annotations

from typing import Final

from trainshed.jobs.converting.parcels import Parcel, says_something
from trainshed.kinds.core.images import pull_policy
from trainshed.kinds.kubeflow.families import Family
from trainshed.kinds.reading import entries, mapping
from trainshed.kube.last_applied import ANNOTATION
from trainshed.kube.objects import Object, text

_SERVERS: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "selfLink", "managedFields",
)  # fmt: skip


def taken(whole: Parcel) -> Object:
    """All that somebody wrote; not what the server did."""
    for name in _SERVERS:
        whole.needless("the server writes it", "metadata", name)
    whole.needless("it told kubectl what the old object was made from", "metadata", "annotations", ANNOTATION)
    meta = mapping(whole.take("metadata"))
    return {name: value for name, value in meta.items() if says_something(value)}


def usual_container_fields(family: Family, container: Object) -> dict[str, str]:
    """Fields of a container that say what is so without them, and why."""
    found = {}
    policy = text(container, "imagePullPolicy")
    if policy and policy == pull_policy(text(container, "image")):
        found["imagePullPolicy"] = f"{policy} is what such an image has by default"
    ports = entries(container, "ports")
    if ports and all(text(port, "name") == family.port_name for port in ports):
        found["ports"] = "pods of a TrainJob reach each other on every port; the framework's own is 29500"
    return found
