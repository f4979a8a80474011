"""Custom kinds: what a CustomResourceDefinition says, as the `Kind`s the server serves.

RULES        defaults, status and checks of definitions themselves
establish    the status of a definition whose names are free (or not)
kinds_of     one Kind per served version
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache

from trainshed.kinds.apiextensions.defaults import defaults, on_create, on_update, storage_versions
from trainshed.kinds.apiextensions.naming import Taken, establish, taken
from trainshed.kinds.apiextensions.validate import validate, validate_status
from trainshed.kinds.kind import Column, Kind, Rules, Scale
from trainshed.kinds.reading import entries, mapping, texts
from trainshed.kube import ages, conditions, jsonpath, schema
from trainshed.kube.objects import JSON, Object, dig, encode, text
from trainshed.kube.schema import Schema

__all__ = ["RULES", "Taken", "establish", "kinds_of", "taken"]

RULES = Rules(
    defaults=defaults,
    on_create=on_create,
    on_update=on_update,
    validate=validate,
    validate_status=validate_status,
)

Load = Callable[[], Object]
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_ON_LEAVING = ("delete", "deletecollection", "get", "list", "watch")
_NAME = Column("Name", format="name", description="Name of the object, unique within its namespace and kind.")
_AGE: Object = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_META = "ObjectMeta"


def kinds_of(
    crd: Object, object_meta: Callable[[], Schema], load: Load | None = None, since: int = 0
) -> tuple[Kind, ...]:
    """The kinds of all served versions; none before the definition is established.

    `object_meta` is the schema of every object's metadata. `load` reads the definition again when a schema is
    needed: definitions are large, and nobody should keep them decoded. Without it this one is kept.
    `since` is the revision of the definition.
    """
    established = conditions.find(dig(crd, "status", "conditions"), "Established")
    if established is not None and established.get("status") != "True":
        return ()
    reload = load or (lambda: crd)
    return tuple(
        _kind(crd, version, object_meta, reload, since)
        for version in entries(crd, "spec", "versions")
        if version.get("served") is True
    )


def _kind(crd: Object, version: Object, object_meta: Callable[[], Schema], load: Load, since: int) -> Kind:
    spec, name = mapping(crd, "spec"), text(version, "name")
    group = text(spec, "group")
    names = mapping(crd, "status", "acceptedNames")
    names = names if text(names, "plural") else mapping(spec, "names")
    singular_kind = text(names, "kind")
    columns = _columns(version)
    source = _source(load, name)
    return Kind(
        group=group,
        version=name,
        kind=singular_kind,
        plural=text(names, "plural"),
        singular=text(names, "singular") or singular_kind.lower(),
        namespaced=spec.get("scope") == "Namespaced",
        schema=cache(lambda: compiled(source(), object_meta)),
        definition=f"{'.'.join(reversed(group.split('.')))}.{name}.{singular_kind}",
        short_names=tuple(texts(names, "shortNames")),
        categories=tuple(texts(names, "categories")),
        verbs=_ON_LEAVING if dig(crd, "metadata", "deletionTimestamp") else _VERBS,
        custom=True,
        has_status=isinstance(dig(version, "subresources", "status"), dict),
        scale=_scale(dig(version, "subresources", "scale")),
        columns=columns,
        cells=_cells(columns),
        field_labels=_field_labels(version),
        storage_version=next(iter(storage_versions(crd)), ""),
        listed_as=text(names, "listKind"),
        source=source,
        since=since,
        edition=hashlib.sha256(encode(version.get("schema"))).hexdigest(),
    )


# --- schema -----------------------------------------------------------------------------------------------


def _source(load: Load, name: str) -> Load:
    def read() -> Object:
        crd = load()
        versions = entries(crd, "spec", "versions")
        found = next((version for version in versions if version.get("name") == name), {})
        return mapping(found, "schema", "openAPIV3Schema")

    return read


class _Compiler(schema.Compiler):
    """Compiles a custom schema, putting the metadata every kind has in the place of its own."""

    def __init__(self, object_meta: Callable[[], Schema]) -> None:
        super().__init__({})
        self._object_meta = object_meta

    def definition(self, name: str) -> Schema:
        return self._object_meta() if name == _META else super().definition(name)


def compiled(source: Object, object_meta: Callable[[], Schema]) -> Schema:
    """The schema objects are pruned, defaulted and validated by; without properties it takes anything."""
    own = {**source, "type": "object"}
    if not source:
        own["x-kubernetes-preserve-unknown-fields"] = True
    own["properties"] = {
        **mapping(source, "properties"),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": f"#/definitions/{_META}"},
    }
    return _Compiler(object_meta).compile(own)


# --- subresources and selectors ---------------------------------------------------------------------------


def _scale(given: JSON) -> Scale | None:
    if not isinstance(given, dict):
        return None
    spec, status, selector = (
        _steps(text(given, field))
        for field in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    )
    return Scale(spec, status, selector)


def _field_labels(version: Object) -> dict[str, tuple[str, ...]]:
    paths = [text(field, "jsonPath") for field in entries(version, "selectableFields")]
    return {path.lstrip("."): _steps(path) for path in paths if path}


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.strip(".").split(".")) if path else ()


# --- printing ---------------------------------------------------------------------------------------------


def _columns(version: Object) -> tuple[Column, ...]:
    given = entries(version, "additionalPrinterColumns") or [_AGE]
    return (_NAME, *(_column(item) for item in given))


def _column(given: Object) -> Column:
    path, priority = text(given, "jsonPath"), given.get("priority")
    described = f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        name=text(given, "name"),
        type=text(given, "type"),
        format=text(given, "format"),
        description=text(given, "description") or described,
        priority=priority if isinstance(priority, int) else 0,
        path=path,
    )


def _cells(columns: tuple[Column, ...]) -> Callable[[Object, datetime], Sequence[JSON]]:
    readers = [(column.type, _path(column.path)) for column in columns[1:]]

    def cells(obj: Object, now: datetime) -> Sequence[JSON]:
        return [text(obj, "metadata", "name"), *(_cell(type, path.find(obj), now) for type, path in readers)]

    return cells


def _path(given: str) -> jsonpath.Path:
    try:
        return jsonpath.parse(given)
    except ValueError:
        # Definitions are checked when written; a path we cannot read prints nothing.
        return jsonpath.parse(".<unreadable>")


def _cell(type: str, found: list[JSON], now: datetime) -> JSON:
    if not found:
        return None
    value = found[0]
    if type == "string":
        return jsonpath.printed(value)
    if type == "date":
        return ages.age_of(value, now) if isinstance(value, str) else None
    if type == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if type == "integer" else value
