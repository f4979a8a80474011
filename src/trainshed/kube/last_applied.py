"""The bridge from kubectl's client-side apply, which keeps what it applied in an annotation.

Only the manager `kubectl` crosses it, as upstream has it: others opt out by having another name.
"""

from __future__ import annotations

from typing import Final

import msgspec

from trainshed.kube import typed
from trainshed.kube.changes import compare, owned
from trainshed.kube.fields import FieldSet, difference
from trainshed.kube.objects import Object, decode, dig, metadata, without
from trainshed.kube.schema import Schema

KUBECTL: Final = "kubectl"
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
MOST_BYTES: Final = 256 * 1024
"""What all annotations of an object may weigh together."""

_sorted_encoder = msgspec.json.Encoder(order="sorted")


def allowed_conflicts(live: Object, schema: Schema, api_version: str) -> FieldSet:
    """The fields client-side apply set and nobody changed since: taking them over is no conflict."""
    text = dig(live, "metadata", "annotations", ANNOTATION)
    if not isinstance(text, str) or not text:
        return {}
    try:
        last = decode(text.encode())
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != api_version or typed.misfits(last, schema):
        return {}
    claimed = owned(last, schema)
    for changed in compare(last, live, schema):
        claimed = difference(claimed, changed)
    return claimed


def refresh(obj: Object, applied: Object) -> None:
    """Keep the annotation, where there is one, at what was applied: client-side apply may come back."""
    annotations = dig(obj, "metadata", "annotations")
    if not isinstance(annotations, dict) or not annotations.get(ANNOTATION):
        return
    annotations[ANNOTATION] = _configuration(applied)
    if sum(len(str(part).encode()) for pair in annotations.items() for part in pair) > MOST_BYTES:
        del annotations[ANNOTATION]


def _configuration(applied: Object) -> str:
    """The applied object without the annotation itself, as kubectl writes it."""
    own = dig(applied, "metadata", "annotations")
    if isinstance(own, dict) and ANNOTATION in own:
        inner = {**metadata(applied), "annotations": without(own, (ANNOTATION,))}
        applied = {**applied, "metadata": inner}
    return _sorted_encoder.encode(applied).decode() + "\n"
