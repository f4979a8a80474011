"""The environment variables of a container, and the texts that refer to them; pure.

Whatever a variable is taken from must be fetched first: `references` names it, `Sources` holds it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trainshed.kinds.reading import entries, is_true, mapping
from trainshed.kube.objects import Object, text
from trainshed.runner import downward

SourceKind = Literal["configmaps", "secrets"]
Reference = tuple[str, str]
"""Kind and name of an object in the namespace of the pod."""

_SHOWN = 40
"""So much of a text is shown in a message."""
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")
_WORDS: Mapping[SourceKind, tuple[str, str]] = {
    "configmaps": ("configmap", "ConfigMap"),
    "secrets": ("secret", "Secret"),
}


LONGEST_BYTES = 128 * 1024 - 1
"""What Linux takes as one argument or variable (MAX_ARG_STRLEN, with the zero at its end)."""
MOST_BYTES = 2 << 20
"""What Linux takes of all of them together, with the usual stack."""


class Unresolved(Exception):
    """A variable cannot be given its value yet; the message is the real node's."""


class TooLong(Unresolved):
    """More text than a program can be started with."""


@dataclass(slots=True)
class Room:
    """What is left for a container's variables and arguments."""

    left: int = MOST_BYTES

    def take(self, what: str, *parts: str) -> None:
        """Raises `TooLong` when one text, or all that was taken so far, is more than Linux takes."""
        size = sum(map(_bytes, parts)) + len(parts)
        if size > LONGEST_BYTES:
            raise TooLong(f"{what} is longer than the {LONGEST_BYTES} bytes a program can be given")
        self.left -= size
        if self.left < 0:
            raise TooLong(f"{what} is too much: variables and arguments may have {MOST_BYTES} bytes in all")


@dataclass(frozen=True, slots=True)
class Sources:
    """What variables are taken from, by kind and name; None for what does not exist."""

    objects: Mapping[Reference, Object | None] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    """Fields of the pod that the node knows better than the object does."""
    allocatable: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)


def references(container: Object) -> Iterator[Reference]:
    """The ConfigMaps and Secrets a container's variables come from."""
    for source in entries(container, "envFrom"):
        for member, kind in _BULK:
            if name := text(source, member, "name"):
                yield kind, name
    for variable in entries(container, "env"):
        for member, kind in _SINGLE:
            if name := text(variable, "valueFrom", member, "name"):
                yield kind, name


_BULK: tuple[tuple[str, SourceKind], ...] = (("configMapRef", "configmaps"), ("secretRef", "secrets"))
_SINGLE: tuple[tuple[str, SourceKind], ...] = (
    ("configMapKeyRef", "configmaps"),
    ("secretKeyRef", "secrets"),
)


def variables(pod: Object, container: Object, sources: Sources, room: Room | None = None) -> dict[str, str]:
    """The variables in the order they were declared, those of services last; raises `Unresolved`."""
    found: dict[str, str] = {}
    room = room or Room()
    for name, value in _each(pod, container, found, sources):
        room.take(f"environment variable {name[:_SHOWN]!r}", name, value)
        found[name] = value
    return {**found, **{name: value for name, value in sources.services.items() if name not in found}}


def _each(
    pod: Object, container: Object, known: Mapping[str, str], sources: Sources
) -> Iterator[tuple[str, str]]:
    """One after the other: each may refer to those that are `known` by then."""
    for source in entries(container, "envFrom"):
        yield from _bulk(pod, source, sources).items()
    for variable in entries(container, "env"):
        value = _value(pod, container, variable, known, sources)
        if value is not None:
            yield text(variable, "name"), value


def expand(template: str, *scopes: Mapping[str, str]) -> str:
    """`$(NAME)` replaced where the name is known, `$$` by one dollar sign; anything else stays.

    Raises `TooLong` as soon as there is too much of it: references to references grow without bounds.
    """
    parts: list[str] = []
    left = LONGEST_BYTES
    for part in _parts(template, scopes):
        left -= _bytes(part)
        if left < 0:
            raise TooLong(f"{template[:_SHOWN]!r} becomes longer than {LONGEST_BYTES} bytes")
        parts.append(part)
    return "".join(parts)


def _parts(template: str, scopes: Sequence[Mapping[str, str]]) -> Iterator[str]:
    end = 0
    for found in _REFERENCE.finditer(template):
        yield template[end : found.start()]
        end = found.end()
        if found[0] == "$$":
            yield "$"
        else:
            yield next((scope[found[1]] for scope in scopes if found[1] in scope), found[0])
    yield template[end:]


def _bytes(part: str) -> int:
    return len(part) if part.isascii() else len(part.encode(errors="replace"))


def _bulk(pod: Object, source: Object, sources: Sources) -> dict[str, str]:
    prefix = text(source, "prefix")
    for member, kind in _BULK:
        if name := text(source, member, "name"):
            obj = _object(pod, kind, name, sources, optional=is_true(source, member, "optional"))
            return {prefix + key: value for key, value in (values_of(kind, obj) if obj else {}).items()}
    return {}


def _value(
    pod: Object, container: Object, variable: Object, known: Mapping[str, str], sources: Sources
) -> str | None:
    """The value of one variable; None leaves it out: optional, and not there."""
    if plain := text(variable, "value"):
        return expand(plain, known, sources.services)
    origin = mapping(variable, "valueFrom")
    try:
        if ref := mapping(origin, "fieldRef"):
            return downward.field(pod, text(ref, "fieldPath"), sources.fields)
        if ref := mapping(origin, "resourceFieldRef"):
            return downward.amount(pod, container, ref, sources.allocatable)
    except downward.UnknownField as unknown:
        raise Unresolved(str(unknown)) from unknown
    for member, kind in _SINGLE:
        if ref := mapping(origin, member):
            return _keyed(pod, kind, ref, sources)
    return ""


def _keyed(pod: Object, kind: SourceKind, ref: Object, sources: Sources) -> str | None:
    name, key, optional = text(ref, "name"), text(ref, "key"), is_true(ref, "optional")
    obj = _object(pod, kind, name, sources, optional=optional)
    value = values_of(kind, obj).get(key) if obj else None
    if value is None and not optional:
        raise Unresolved(f"couldn't find key {key} in {_WORDS[kind][1]} {namespace_of(pod)}/{name}")
    return value


def _object(pod: Object, kind: SourceKind, name: str, sources: Sources, *, optional: bool) -> Object | None:
    found = sources.objects.get((kind, name))
    if found is None and not optional:
        raise Unresolved(missing(kind, name))
    return found


def missing(kind: SourceKind, name: str) -> str:
    return f'{_WORDS[kind][0]} "{name}" not found'


def values_of(kind: SourceKind, obj: Object) -> dict[str, str]:
    """The texts of a ConfigMap or Secret; bytes that are no text become replacement characters."""
    if kind == "configmaps":
        return {key: str(value) for key, value in mapping(obj, "data").items()}
    return {key: decoded(value).decode(errors="replace") for key, value in mapping(obj, "data").items()}


def decoded(value: object) -> bytes:
    """What base64 stands for; nothing where it is broken (the server refuses that)."""
    try:
        return base64.b64decode(str(value))
    except (ValueError, binascii.Error):
        return b""


def namespace_of(pod: Object) -> str:
    return text(pod, "metadata", "namespace")
