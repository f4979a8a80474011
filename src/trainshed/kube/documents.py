"""JSON and YAML text to plain values and back: what a body or a manifest says, or why it cannot be read.

Every function raises ValueError (and nothing else) for text it cannot read. Nesting beyond `MAX_DEPTH` is
refused, so that code further in may recurse. YAML has the types of sigs.k8s.io/yaml, not those of PyYAML.
"""

from __future__ import annotations

import json
import re

import msgspec

from trainshed.kube.objects import JSON, decode, encode

MAX_DEPTH = 100
_TOO_DEEP = "exceeded max depth"
_HALF = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a surrogate pair in a JSON text: the first without the second, or the second without the first."""
_POSITION = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)")


def read_json(data: bytes) -> JSON:
    try:
        value = _decoded(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start}") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(_worded(str(error), data)) from None
    # Few brackets cannot nest deeply: most bodies are done here.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def _decoded(data: bytes) -> JSON:
    try:
        return decode(data)
    except msgspec.MsgspecError:
        if (whole := _whole(data)) == data:
            raise
        return decode(whole)


def is_too_deep(value: JSON, most: int = MAX_DEPTH) -> bool:
    """Whether objects and lists nest deeper than `most` levels; iterative, so that no depth overflows."""
    level: list[JSON] = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        if not level:
            return False
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
    return bool(level)


def read_yaml(data: bytes, duplicates: list[str] | None = None, *, alone: bool = False) -> JSON:
    """The first document of a YAML text. Of repeated keys the last wins; `duplicates` then says which.

    What follows it is not looked at, as in a request; `alone` refuses it instead.
    """
    import yaml  # here: a start need not wait for it, and few bodies are YAML

    from trainshed.kube.yamlreader import Reader

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"yaml: invalid UTF-8 at byte {error.start}") from None
    reader = Reader(MAX_DEPTH)
    try:
        value = reader.read(text, alone=alone)
    except yaml.YAMLError as error:
        raise ValueError(_yaml_wording(error)) from None
    if duplicates is not None and reader.repeated:
        duplicates.append("yaml: unmarshal errors:\n  " + "\n  ".join(reader.repeated))
    return value


def write_yaml(value: JSON) -> bytes:
    from trainshed.kube import yamlwriter

    return yamlwriter.write(value)


def find_duplicates(data: bytes, value: JSON) -> list[str]:
    """The paths of repeated keys in JSON text that was read as `value`: `spec.a`, `spec.list[0].b`."""
    return _paths(data) if _may_repeat(data, value) else []


def _may_repeat(data: bytes, value: JSON) -> bool:
    """False only if no key is repeated; costs one encoding and, for other than our own spelling, two counts.

    Each key stands before one colon, and colons inside texts survive decoding. So a text with as many colons
    as the value written anew has lost no key on the way. Escaped colons would spoil that: then look closely.
    """
    again = encode(value)
    if again == data:
        return False
    return data.count(b":") != again.count(b":") or (b"\\" in data and b"\\u003" in data)


class _Repeating(dict[str, JSON]):
    """An object that had some keys more than once."""

    repeated: list[str]


def _paths(data: bytes) -> list[str]:
    try:
        marked = json.loads(_whole(data), object_pairs_hook=_marking)
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    waiting: list[tuple[str, JSON]] = [("", marked)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            head = f"{path}." if path else ""
            if isinstance(value, _Repeating):
                found.extend(head + key for key in value.repeated)
            waiting.extend((head + key, inner) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((f"{path}[{index}]", inner) for index, inner in reversed(list(enumerate(value))))
    return list(dict.fromkeys(found))


def _marking(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    marked = _Repeating(plain)
    marked.repeated = []
    unseen = set(plain)
    for key, _ in pairs:
        if key in unseen:
            unseen.discard(key)
        else:
            marked.repeated.append(key)
    return marked


def named(value: JSON) -> str:
    """What Go's JSON package calls a value."""
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "bool"
    return {str: "string", dict: "object", type(None): "null"}.get(type(value), "number")


def _whole(data: bytes) -> bytes:
    """The text with halves of surrogate pairs replaced, as Go reads them; our decoder refuses those.

    Escaped backslashes step aside meanwhile, for bytes that no text has: behind one, `ud800` is just letters.
    So no escape costs a call, and every byte keeps its place.
    """
    if b"\xff" in data:
        return data
    aside = data.replace(rb"\\", b"\xff\xff")
    return _HALF.sub(rb"\\ufffd", aside).replace(b"\xff\xff", rb"\\")


def _worded(message: str, data: bytes) -> str:
    """The decoder's complaint, close to what Go's JSON package says."""
    if message == "Input data was truncated":
        return "unexpected end of JSON input"
    found = _POSITION.fullmatch(message)
    if found is None:
        return message[:1].lower() + message[1:]
    at = int(found.group(2))
    letter = chr(data[at]) if at < len(data) else ""
    if found.group(1) == "trailing characters":
        # The decoder points behind the first surplus byte.
        return f"invalid character {chr(data[at - 1])!r} after top-level value"
    return f"invalid character {letter!r} at byte {at}: {found.group(1)}"


def _yaml_wording(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    return f"yaml: line {mark.line + 1}: {problem}" if mark is not None else f"yaml: {problem}"
