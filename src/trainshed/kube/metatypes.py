"""The types of an object's metadata: what does not fit them cannot be read at all, in the words of Go."""

from __future__ import annotations

from typing import Final

from trainshed.kube import formats
from trainshed.kube.documents import named
from trainshed.kube.objects import JSON, Object

_TYPES: Final[dict[str, tuple[type, str]]] = {
    "name": (str, "string"),
    "generateName": (str, "string"),
    "namespace": (str, "string"),
    "selfLink": (str, "string"),
    "uid": (str, "types.UID"),
    "resourceVersion": (str, "string"),
    "generation": (int, "int64"),
    "deletionGracePeriodSeconds": (int, "int64"),
    "labels": (dict, "map[string]string"),
    "annotations": (dict, "map[string]string"),
    "finalizers": (list, "[]string"),
    "ownerReferences": (list, "[]v1.OwnerReference"),
    "managedFields": (list, "[]v1.ManagedFieldsEntry"),
}
_TIMES: Final = ("creationTimestamp", "deletionTimestamp")
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"


def misfit(obj: Object) -> str:
    """Why the metadata of an object cannot be read, or nothing; null is the same as absent everywhere."""
    metadata = obj.get("metadata")
    if metadata is None:
        return ""
    if not isinstance(metadata, dict):
        return unreadable(metadata, "metadata", "v1.ObjectMeta")
    for field, value in metadata.items():
        if value is not None and field in _TYPES and type(value) is not _TYPES[field][0]:
            return unreadable(value, f"ObjectMeta.metadata.{field}", _TYPES[field][1])
    return next((why for field in _TIMES if (why := _bad_time(metadata.get(field)))), "")


def unreadable(value: JSON, field: str, type: str) -> str:
    return f"json: cannot unmarshal {named(value)} into Go struct field {field} of type {type}"


def _bad_time(value: JSON) -> str:
    if value in (None, ""):
        return ""
    if not isinstance(value, str):
        return f"json: cannot unmarshal {named(value)} into Go value of type string"
    if formats.fits("date-time", value):
        return ""
    return f'parsing time "{value}" as "{_LAYOUT}": cannot parse "{value}" as "2006"'
