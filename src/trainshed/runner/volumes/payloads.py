"""The files of configMap, secret, downwardAPI and projected volumes; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trainshed.kinds.reading import entries, is_true, mapping, number
from trainshed.kube.objects import Object, text
from trainshed.runner import downward, environment
from trainshed.runner.environment import SourceKind, Sources
from trainshed.runner.volumes.wanted import Files

_WORDS: Final[Mapping[SourceKind, str]] = {"configmaps": "config", "secrets": "secret"}


class Incomplete(Exception):
    """Something a volume is made from is missing; the message is the real node's."""


@dataclass(frozen=True, slots=True)
class File:
    data: bytes
    mode: int


Payload = dict[str, File]
Tokens = Mapping[tuple[str, str], bytes]
"""Service account tokens by the volume and the path they were asked for."""


def for_group(payload: Payload, group: int | None) -> Payload:
    """The files as a pod's fsGroup may read them."""
    if group is None:
        return payload
    return {name: File(file.data, file.mode | 0o440) for name, file in payload.items()}


def payload(pod: Object, volume: Files, sources: Sources, tokens: Tokens) -> Payload:
    """All files of a volume by their relative path; later sources win. Raises `Incomplete`."""
    found: Payload = {}
    for source in volume.sources:
        for member, kind in _OBJECTS:
            if isinstance(source.get(member), dict):
                found.update(_of_object(kind, source[member], volume.mode, sources))
        if isinstance(source.get("downwardAPI"), dict):
            found.update(_of_pod(pod, source["downwardAPI"], volume.mode, sources))
        if path := text(source, "serviceAccountToken", "path"):
            found[path] = File(tokens[volume.name, path], volume.mode)
    return found


_OBJECTS: Final[tuple[tuple[str, SourceKind], ...]] = (("configMap", "configmaps"), ("secret", "secrets"))


def _of_object(kind: SourceKind, source: Object, mode: int, sources: Sources) -> Payload:
    name, optional = text(source, "name"), is_true(source, "optional")
    obj = sources.objects.get((kind, name))
    if obj is None:
        if optional:
            return {}
        raise Incomplete(environment.missing(kind, name))
    contents = _contents(kind, obj)
    if not isinstance(source.get("items"), list):
        return {key: File(data, mode) for key, data in contents.items()}
    found: Payload = {}
    for item in entries(source, "items"):
        key = text(item, "key")
        if key in contents:
            found[text(item, "path")] = File(contents[key], _own_mode(item, mode))
        elif not optional:
            raise Incomplete(f"references non-existent {_WORDS[kind]} key: {key}")
    return found


def _contents(kind: SourceKind, obj: Object) -> dict[str, bytes]:
    if kind == "secrets":
        return {key: environment.decoded(value) for key, value in mapping(obj, "data").items()}
    plain = {key: str(value).encode() for key, value in mapping(obj, "data").items()}
    return plain | {key: environment.decoded(value) for key, value in mapping(obj, "binaryData").items()}


def _of_pod(pod: Object, source: Object, mode: int, sources: Sources) -> Payload:
    found: Payload = {}
    for item in entries(source, "items"):
        try:
            value = _field(pod, item, sources)
        except downward.UnknownField as unknown:
            raise Incomplete(str(unknown)) from unknown
        found[text(item, "path")] = File(value.encode(), _own_mode(item, mode))
    return found


def _field(pod: Object, item: Object, sources: Sources) -> str:
    if ref := mapping(item, "fieldRef"):
        return downward.field(pod, text(ref, "fieldPath"), sources.fields)
    return downward.amount(pod, {}, mapping(item, "resourceFieldRef"), sources.allocatable)


def _own_mode(item: Object, mode: int) -> int:
    own = number(item, "mode")
    return mode if own is None else own
