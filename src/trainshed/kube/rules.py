"""Rules written in CEL (x-kubernetes-validations), evaluated wherever a schema carries them."""

from __future__ import annotations

from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON
from trainshed.kube.structure import MISSING, Schema


def errors(schema: Schema, obj: JSON, old: JSON = MISSING, path: str = "") -> list[FieldError]:
    return []
