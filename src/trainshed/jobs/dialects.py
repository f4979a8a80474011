"""How a TrainJob changes its runtime's pods, in the words of the Trainer it is sent to; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from trainshed.kube.faults import BadRequest, Fault
from trainshed.kube.objects import JSON, Object, dig

Dialect = Literal["v2.1", "v2.2"]
"""v2.1 has `podTemplateOverrides`; v2.2 and all later ones have `runtimePatches`."""
NEWEST: Final[Dialect] = "v2.2"
_UNKNOWN: Final = re.compile(r'unknown field "([^"]+)"')
_MOST_FIELDS: Final = 3


@dataclass(frozen=True, slots=True)
class Change:
    """What is added to the pods of some of the runtime's jobs."""

    jobs: Sequence[str]
    template: Object
    """`metadata` and `spec` of the pods."""


def changes(found: Sequence[Change], dialect: Dialect, manager: str) -> Object:
    """The part of a TrainJob's spec that says so."""
    stated = [change for change in found if change.template]
    if not stated:
        return {}
    if dialect == "v2.1":
        overrides = [
            {"targetJobs": [{"name": job} for job in change.jobs], **change.template} for change in stated
        ]
        return {"podTemplateOverrides": overrides}
    jobs = [
        {"name": job, "template": {"spec": {"template": change.template}}}
        for change in stated
        for job in change.jobs
    ]
    template = {"spec": {"replicatedJobs": jobs}}
    return {"runtimePatches": [{"manager": manager, "trainingRuntimeSpec": {"template": template}}]}


# --- which one a server speaks ------------------------------------------------------------------------------


def of_document(document: JSON) -> Dialect:
    """The dialect that an OpenAPI v3 document of the trainer's group speaks."""
    fields = {name for schema in _trainjobs(document) for name in _spec_fields(document, schema)}
    return "v2.2" if "runtimePatches" in fields or not fields else "v2.1"


def _trainjobs(document: JSON) -> Iterator[JSON]:
    for schema in (dig(document, "components", "schemas") or {}).values():
        for kind in dig(schema, "x-kubernetes-group-version-kind") or []:
            if dig(kind, "kind") == "TrainJob":
                yield schema


def _spec_fields(document: JSON, schema: JSON) -> Iterator[str]:
    """The names of the spec's fields, whether it is written in place or referred to."""
    spec = dig(schema, "properties", "spec")
    for place in (spec, *(dig(spec, "allOf") or [])):
        yield from dig(place, "properties") or {}
        reference = dig(place, "$ref")
        if isinstance(reference, str):
            name = reference.rpartition("/")[2]
            yield from dig(document, "components", "schemas", name, "properties") or {}


# --- what it does not know ----------------------------------------------------------------------------------


def unknown_fields(refused: Fault) -> list[str]:
    """The fields for whose sake a server refused what was sent strictly; none where it had others."""
    return _UNKNOWN.findall(refused.message) if isinstance(refused, BadRequest) else []


def lacking(fields: Sequence[str]) -> str:
    """Why nothing was made, in words."""
    more = f" and {len(fields) - _MOST_FIELDS} more" if len(fields) > _MOST_FIELDS else ""
    named = f"{', '.join(fields[:_MOST_FIELDS])}{more}"
    return f"the Kubeflow Trainer of this cluster does not know {named}; without it the job would lack a part"


UPGRADE: Final = "it takes Kubeflow Trainer 2.1 or newer; upgrade it with its CRDs"
