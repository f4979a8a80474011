"""A manifest held against the schema the server has for its kind, without a server.

What is found here the server would refuse, or kubectl, which asks it to be strict. A job of the wrong
shape is not merged at all, since nobody knows what is meant.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from trainshed.controllers.trainjob.lints import Lint
from trainshed.kinds import custom
from trainshed.kinds.kind import Kind
from trainshed.kinds.schemas import Schemas
from trainshed.kinds.trainer import trainjobs
from trainshed.kube import names, schema
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import Object, copied, decode, text
from trainshed.kube.schema import Schema

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_STEP: Final = re.compile(r"[^.\[\]]+|\[\d+\]")
_DEEPEST: Final = 4
"""So far below a field is looked for where somebody has put it in the wrong place."""


def kinds(schemas: Schemas) -> Mapping[str, Kind]:
    """The kinds of Kubeflow Trainer as they ship, by name."""
    definitions = [decode(crd.raw) for crd in schemas.crds() if crd.name.endswith(f".{trainjobs.GROUP}")]
    found = (custom.kinds_of(crd, lambda: schemas.compiled(_META)) for crd in definitions)
    return {kind.kind: kind for each in found for kind in each}


def checked(document: Object, known: Mapping[str, Kind]) -> tuple[Object, list[Lint]]:
    """The document without what is unknown in it, and why the server would refuse it."""
    kind = known.get(text(document, "kind"))
    if kind is None:
        return document, []
    if (wrong := _wrong_version(document, kind)) is not None:
        return document, [wrong]
    obj: Object = copied(document)
    unknown = [_unknown(path, kind.schema()) for path in schema.prune(kind.schema(), obj)]
    schema.default(kind.schema(), obj)
    _name(obj)
    return obj, [*unknown, *_misshapen(obj, kind)]


def _name(obj: Object) -> None:
    """As the server would, where the name is left to it."""
    meta = obj.get("metadata")
    if isinstance(meta, dict) and isinstance(meta.get("generateName"), str) and meta["generateName"]:
        meta.setdefault("name", f"{meta['generateName']}xxxxx")


def is_mergeable(lints: Iterable[Lint]) -> bool:
    """Whether enough is right to show what would become of it."""
    return all(lint.rule == "unknown-field" for lint in lints)


def _wrong_version(document: Object, kind: Kind) -> Lint | None:
    given = document.get("apiVersion")
    if given == kind.api_version:
        return None
    said = f'there is no {kind.kind} in "{given}"' if given else "Required value"
    return Lint("wrong-version", "apiVersion", f"{said}: it is in {kind.api_version}", "error")


# --- unknown fields -----------------------------------------------------------------------------------------


def _unknown(path: str, root: Schema) -> Lint:
    *above, name = _STEP.findall(path)
    meant = _neighbour(name, _below(root, above)) or _elsewhere(name, root)
    hint = f'; did you mean "{meant}"?' if meant else ""
    return Lint("unknown-field", path, f"there is no such field{hint}", "error")


def _below(node: Schema, steps: Iterable[str]) -> Schema | None:
    for step in steps:
        found = node.items if step.startswith("[") else node.properties.get(step, node.additional)
        if found is None:
            return None
        node = found
    return node


def _neighbour(name: str, node: Schema | None) -> str:
    near = difflib.get_close_matches(name, node.properties if node is not None else (), n=1)
    return near[0] if near else ""


def _elsewhere(name: str, root: Schema) -> str:
    """The nearest place that has a field of this name, where there is one place only."""
    level: list[tuple[str, Schema]] = [("", root)]
    for _ in range(_DEEPEST):
        found = [f"{path}{name}" for path, node in level if name in node.properties]
        if found:
            return found[0] if len(found) == 1 else ""
        level = [
            (f"{path}{key}.", child)
            for path, node in level
            for key, child in node.properties.items()
            if key not in ("metadata", "status")
        ]
    return ""


# --- shapes -------------------------------------------------------------------------------------------------


def _misshapen(obj: Object, kind: Kind) -> Iterator[Lint]:
    errors = [*_metadata_errors(obj, kind), *schema.validate(kind.schema(), obj)]
    # That some rules were not checked is of no use beside what kept them from it.
    told = [error for error in errors if error.field != "<nil>"] or errors
    return (Lint("wrong-shape", error.field, _words(error), "error") for error in told)


def _metadata_errors(obj: Object, kind: Kind) -> list[FieldError]:
    meta = obj.setdefault("metadata", {})
    if not isinstance(meta, dict):  # told by the schema
        return []
    return names.metadata_errors(
        {"namespace": "default" if kind.namespaced else "", **meta}, namespaced=kind.namespaced
    )


def _words(error: FieldError) -> str:
    """The server's words, without the field a second time."""
    said = error.text.rpartition(f"{error.field} in body ")[2]
    if said == 'must be of type array: "string"':
        return f'{said}; write it as a list, such as ["python", "train.py"]'
    return said
