"""allOf, anyOf, oneOf and not: inside them values may be restricted, but neither typed nor described."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.kinds.apiextensions import shapes
from trainshed.kube.faults import FieldError, forbidden, required
from trainshed.kube.objects import JSON, Object

_EITHER = [{"type": "integer"}, {"type": "string"}]
_FORBIDDEN = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}


def errors(path: str, source: Object) -> Iterator[FieldError]:
    """Faults of the branches of a structural node."""
    for where, branch in _branches(path, source, skip_first=True):
        yield from _branch(where, branch, path, source)


def _branches(path: str, source: Object, skip_first: bool = False) -> Iterator[tuple[str, Object]]:
    """The branches of a node; int-or-string written as anyOf (alone or first in allOf) is no branch."""
    for word in ("anyOf", "allOf", "oneOf"):
        listed = source.get(word)
        if not isinstance(listed, list) or (skip_first and word == "anyOf" and listed == _EITHER):
            continue
        for index, branch in enumerate(listed):
            if skip_first and word == "allOf" and index == 0 and branch == {"anyOf": _EITHER}:
                continue
            if isinstance(branch, dict):
                yield f"{path}.{word}[{index}]", branch
    if isinstance(source.get("not"), dict):
        yield f"{path}.not", source["not"]


def _branch(path: str, branch: Object, home: str, structure: JSON) -> Iterator[FieldError]:
    """One branch, its own branches, and what it says of parts; every part must be known to the structure."""
    if not isinstance(structure, dict):
        yield required(home, f"because it is defined in {path}")
        return
    if misshapen := list(shapes.errors(path, branch)):
        yield from misshapen
        return
    for word, why in _FORBIDDEN.items():
        if branch.get(word):
            yield forbidden(f"{path}.{word}", why)
    for where, inner in _branches(path, branch):
        yield from _branch(where, inner, home, structure)
    if isinstance(branch.get("items"), dict):
        yield from _branch(f"{path}.items", branch["items"], f"{home}.items", structure.get("items"))
    properties = branch.get("properties")
    known = structure.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        where = f"{path}.properties[{name}]"
        if name == "metadata":
            yield forbidden(where, "must not be specified in a nested context")
        if isinstance(inner, dict):
            part = known.get(name) if isinstance(known, dict) else None
            yield from _branch(where, inner, f"{home}.properties[{name}]", part)
