"""The words that say how lists and maps are merged: x-kubernetes-list-type, -list-map-keys, -map-type."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.kinds.reading import texts
from trainshed.kube.faults import FieldError, forbidden, invalid, required, unsupported
from trainshed.kube.objects import JSON, Object

_LIST, _KEYS, _MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"


def errors(path: str, source: Object) -> Iterator[FieldError]:
    if source.get(_MAP) is not None:
        yield from _belongs_to(path, source, _MAP, "object")
        if source[_MAP] not in ("atomic", "granular"):
            yield unsupported(f"{path}.{_MAP}", source[_MAP], ("atomic", "granular"))
    if source.get(_LIST) is not None:
        yield from _belongs_to(path, source, _LIST, "array")
        if source[_LIST] not in ("atomic", "set", "map"):
            yield unsupported(f"{path}.{_LIST}", source[_LIST], ("atomic", "set", "map"))
    if source.get(_KEYS) and source.get(_LIST) != "map":
        why = f"must be map if {_KEYS} is non-empty"
        field = f"{path}.{_LIST}"
        yield invalid(field, source[_LIST], why) if source.get(_LIST) else required(field, why)
    if source.get(_LIST) == "map":
        yield from _map(path, source)
    elif source.get(_LIST) == "set":
        yield from _set(path, source.get("items"))


def _belongs_to(path: str, source: Object, word: str, type: str) -> Iterator[FieldError]:
    if source.get("type") != type:
        why = f"must be {type} if {word} is specified"
        given = source.get("type")
        yield invalid(f"{path}.type", given, why) if given else required(f"{path}.type", why)


def _map(path: str, source: Object) -> Iterator[FieldError]:
    keys, items = source.get(_KEYS), source.get("items")
    if not isinstance(keys, list) or not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST} is map")
        keys = []
    if not isinstance(items, dict):
        yield required(f"{path}.items", f"must have a schema if {_LIST} is map")
        return
    if items.get("nullable") is True:
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST} is map")
    if items.get("type") != "object":
        why = f"must be object if parent array's {_LIST} is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", why)
        return
    if len(set(map(str, keys))) != len(keys):
        yield invalid(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")
    for key in keys:
        yield from _map_key(path, keys, str(key), items)


def _map_key(path: str, keys: list[JSON], key: str, items: Object) -> Iterator[FieldError]:
    properties = items.get("properties")
    found = properties.get(key) if isinstance(properties, dict) else None
    where = f"{path}.items.properties[{key}]"
    if not isinstance(found, dict):
        yield invalid(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        return
    if found.get("type") in ("array", "object"):
        yield invalid(f"{where}.type", "object", f"must be a scalar type if parent array's {_LIST} is map")
    listed = f"this property is in {_KEYS}, so it"
    if key not in texts(items, "required") and "default" not in found:
        yield required(f"{where}.default", f"{listed} must have a default or be a required property")
    if found.get("nullable") is True:
        yield forbidden(f"{where}.nullable", f"{listed} cannot be nullable")


def _set(path: str, items: JSON) -> Iterator[FieldError]:
    if not isinstance(items, dict):
        return
    why = f"must be atomic as item of a list with {_LIST}=set"
    if items.get("nullable") is True:
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST} is set")
    if items.get("type") == "array" and items.get(_LIST, "atomic") != "atomic":
        yield invalid(f"{path}.items.{_LIST}", items[_LIST], why)
    if items.get("type") == "object" and items.get(_MAP) != "atomic":
        yield invalid(f"{path}.items.{_MAP}", items.get(_MAP), why)
