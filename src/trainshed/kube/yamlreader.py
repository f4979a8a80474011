"""YAML events to plain JSON values, with the types sigs.k8s.io/yaml would give them.

Built on the event stream rather than on PyYAML's constructors: no dates, no base-60 numbers, no recursion,
string keys only, and aliases are copied under a budget instead of being shared.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from dataclasses import dataclass, field

import yaml

from trainshed.kube.objects import JSON, copied

MAX_ALIASED = 100_000
"""Most values that aliases may add to one document: a bomb of nested aliases stops here."""

_WORDS: dict[str, JSON] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_TAGS = "tag:yaml.org,2002:"
_MERGE = object()
"""Stands for the key `<<`."""
_NO_KEY = object()


@dataclass(slots=True)
class _Frame:
    """An object or list that is still open."""

    value: JSON
    line: int
    anchor: str | None
    started: int
    height: int = 1
    key: JSON = _NO_KEY
    merged: list[JSON] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: JSON
    size: int
    height: int


class Reader:
    """Reads one document; `repeated` then describes the keys that occurred more than once."""

    def __init__(self, max_depth: int) -> None:
        self.repeated: list[str] = []
        self._max_depth = max_depth
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._count = 0
        self._aliased = 0

    def read(self, text: str, *, alone: bool = False) -> JSON:
        """The first document; `alone` refuses a text that goes on behind it."""
        result: JSON = None
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for event in events:
            if isinstance(event, yaml.DocumentEndEvent):
                if alone:
                    _expect_end(next(events))
                break
            done = self._take(event)
            if done is not None:
                result = done.value
        return result

    def _take(self, event: yaml.Event) -> _Anchored | None:
        """One event; returns the document's value once it is complete."""
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
            self._count += 1
            return self._place(value, _Anchored(value, 1, 0), event.anchor, _line(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open({} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            return self._close()
        return None

    def _open(self, value: JSON, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._stack) >= self._max_depth:
            raise ValueError("yaml: exceeded max depth")
        self._count += 1
        if event.anchor:
            self._anchors[event.anchor] = None
        self._stack.append(_Frame(value, _line(event), event.anchor, self._count))

    def _close(self) -> _Anchored | None:
        frame = self._stack.pop()
        for source in reversed(frame.merged):
            for key, value in source.items():
                frame.value.setdefault(key, value)
        whole = _Anchored(frame.value, self._count - frame.started + 1, frame.height)
        return self._place(frame.value, whole, frame.anchor, frame.line)

    def _alias(self, event: yaml.AliasEvent) -> _Anchored | None:
        name = str(event.anchor)
        if name not in self._anchors:
            raise ValueError(f"yaml: unknown anchor '{name}' referenced")
        target = self._anchors[name]
        if target is None:
            raise ValueError(f"yaml: anchor '{name}' value contains itself")
        self._aliased += target.size
        self._count += target.size
        if self._aliased > MAX_ALIASED:
            raise ValueError("yaml: document contains excessive aliasing")
        if len(self._stack) + target.height > self._max_depth:
            raise ValueError("yaml: exceeded max depth")
        return self._place(copied(target.value), target, None, _line(event))

    def _place(self, value: JSON, whole: _Anchored, anchor: str | None, line: int) -> _Anchored | None:
        """Put a complete value where it belongs."""
        if anchor:
            self._anchors[anchor] = whole
        if not self._stack:
            return whole
        frame = self._stack[-1]
        frame.height = max(frame.height, whole.height + 1)
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _NO_KEY:
            frame.key = value if value is _MERGE else _key(value)
        else:
            self._set(frame, value, line)
        return None

    def _set(self, frame: _Frame, value: JSON, line: int) -> None:
        key, frame.key = frame.key, _NO_KEY
        if key is _MERGE:
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                raise ValueError("yaml: map merge requires map or sequence of maps as the value")
            frame.merged.extend(reversed(sources))
            return
        if key in frame.value:
            self.repeated.append(f'line {line}: key "{key}" already set in map')
        frame.value[key] = value

    def _scalar(self, event: yaml.ScalarEvent) -> JSON:
        text: str = event.value
        tag = event.tag or ""
        plain = event.implicit[0] and not event.style
        if plain and text == "<<" and self._expects_key():
            return _MERGE
        if tag == _TAGS + "binary":
            return _binary(text)
        if tag.startswith(_TAGS) and tag != _TAGS + "str":
            return _tagged(tag.removeprefix(_TAGS), text)
        return resolve(text) if plain and not tag else text

    def _expects_key(self) -> bool:
        frame = self._stack[-1] if self._stack else None
        return frame is not None and isinstance(frame.value, dict) and frame.key is _NO_KEY


def _expect_end(event: yaml.Event) -> None:
    if not isinstance(event, yaml.StreamEndEvent):
        raise ValueError(f"yaml: line {_line(event)}: another document begins without a line ---")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def resolve(text: str) -> JSON:
    """The value of a bare word; ValueError for what JSON cannot hold."""
    if text in _WORDS:
        return _finite(_WORDS[text])
    if not text[0].isdigit() and text[0] not in "+-.":
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits) and len(digits) < 70:
        number = _integer(digits)
        if -(2**63) <= number < 2**64:
            return number
    return _finite(float(digits)) if _FLOAT.fullmatch(digits) else text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-").lower()
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _finite(value: JSON) -> JSON:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"json: unsupported value: {value}")
    return value


def _tagged(tag: str, text: str) -> JSON:
    value = resolve(text)
    if tag == "float" and type(value) is int:
        return float(value)
    wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(tag)
    if wanted is not None and type(value) is not wanted:
        raise ValueError(f"yaml: cannot decode `{text}` as a !!{tag}")
    return text if wanted is None else value


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("yaml: !!binary value contains invalid base64 data") from None


def _key(value: JSON) -> str:
    """Keys are always text in JSON: numbers and booleans are spelled out."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    name = "null" if value is None else "list" if isinstance(value, list) else "map"
    raise ValueError(f"error converting YAML to JSON: unsupported map key of type: {name}")
