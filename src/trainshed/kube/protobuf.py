"""Protobuf request bodies: from the bytes kubectl sends for built-in kinds to the JSON object they stand for.

Driven by tables (`Messages`), so this file knows the wire format and the handful of types whose JSON form is
special (times, quantities, ...), but no kind. Answers are never protobuf: every client also accepts JSON.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from trainshed.kube import documents, objects
from trainshed.kube.faults import BadRequest
from trainshed.kube.objects import JSON, Object

MAGIC = b"k8s\x00"
CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
MOST_RECORDS = 100_000
"""Fields read per body. Two bytes make a field, so without a bound 3 MiB of junk would cost seconds."""
MOST_NESTING = 100

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Field:
    """One numbered field of a message; without a name its own fields appear in the parent (Go inlines it)."""

    name: str
    type: str
    many: bool = False
    mapped: bool = False
    keeps_zero: bool = False
    """Go writes unset plain scalars as zeros; only where JSON would show a zero too may it survive."""
    always: bool = False
    """JSON shows the field even when nobody set it."""


Message = Mapping[int, Field]


@dataclass(frozen=True, slots=True)
class Messages:
    """All messages by name, and which one a kind (apiVersion, kind) uses; apiVersion "" stands for any."""

    fields: Mapping[str, Message]
    kinds: Mapping[tuple[str, str], str]

    def of_kind(self, api_version: str, kind: str) -> Message | None:
        name = self.kinds.get((api_version, kind)) or self.kinds.get(("", kind))
        return self.fields.get(name) if name else None


def decode(data: bytes, messages: Messages, *, api_version: str = "", kind: str = "") -> Object:
    """The JSON object of an enveloped message; apiVersion and kind are used where the envelope names none."""
    if not data.startswith(MAGIC):
        raise BadRequest("the request body is not Kubernetes protobuf: it does not start with 6b 38 73 00")
    try:
        return _unwrap(data[len(MAGIC) :], messages, api_version, kind)
    except _Broken as broken:
        raise BadRequest(f"the request body is not readable as protobuf: {broken}") from None


class _Broken(ValueError):
    pass


def _unwrap(data: bytes, messages: Messages, api_version: str, kind: str) -> Object:
    envelope = _Reader(_SPECIAL).message(data, _ENVELOPE)
    if envelope.get("contentEncoding") or envelope.get("contentType", CONTENT_TYPE) != CONTENT_TYPE:
        raise _Broken("the envelope holds another encoding")
    typed = envelope.get("typeMeta", {})
    api_version, kind = typed.get("apiVersion") or api_version, typed.get("kind") or kind
    message = messages.of_kind(api_version, kind)
    if message is None:
        raise _Broken(f'no kind "{kind}" is registered for version "{api_version}"')
    body = _Reader(messages.fields).message(envelope.get("raw", b""), message)
    return {"apiVersion": api_version, "kind": kind, **body}


# --- the wire ---------------------------------------------------------------------------------------------


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for position in range(at, min(at + 10, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position + 1
        shift += 7
    raise _Broken("unexpected end" if at + 10 > len(data) else "a number has more than 64 bits")


def _records(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in wire order: number, and an int (numbers) or bytes (everything else)."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        if not 0 < tag >> 3 < 1 << 29:
            raise _Broken(f"illegal tag {tag >> 3}")
        size, wire = 0, tag & 7
        if wire == _VARINT:
            number, at = _varint(data, at)
            yield tag >> 3, number
            continue
        if wire == _LENGTH:
            size, at = _varint(data, at)
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if wire == _EIGHT_BYTES else 4
        else:
            raise _Broken(f"illegal wire type {wire}")
        if size > end - at:
            raise _Broken("unexpected end")
        yield tag >> 3, data[at : at + size]
        at += size


# --- values -----------------------------------------------------------------------------------------------


class _Reader:
    """Reads messages by their tables, counting what it reads."""

    __slots__ = ("fields", "nesting", "records")

    def __init__(self, fields: Mapping[str, Message]) -> None:
        self.fields = fields
        self.records = self.nesting = 0

    def message(self, data: bytes, message: Message, into: Object | None = None) -> Object:
        target: Object = {} if into is None else into
        self.nesting += 1
        if self.nesting > MOST_NESTING:
            raise _Broken("nested too deeply")
        for number, raw in _records(data):
            self._count()
            if (field := message.get(number)) is not None:
                self._set(target, field, raw)
        self.nesting -= 1
        return target

    def _count(self) -> None:
        self.records += 1
        if self.records > MOST_RECORDS:
            raise _Broken("too many fields")

    def _set(self, target: Object, field: Field, raw: int | bytes) -> None:
        if field.mapped:
            self._set_entry(target, field, raw)
        elif field.many:
            self._append(target.setdefault(field.name, []), field, raw)
        elif not field.name:
            self.message(_bytes(raw, field), self.fields[field.type], target)
        elif inner := self.fields.get(field.type):
            self.message(_bytes(raw, field), inner, target.setdefault(field.name, {}))
        else:
            value = self._scalar(raw, field)
            if value is None or not (value or field.keeps_zero or field.type in _TELLING_ZEROS):
                target.pop(field.name, None)
            else:
                target[field.name] = value

    def _append(self, target: list[JSON], field: Field, raw: int | bytes) -> None:
        if isinstance(raw, bytes) and field.type in _INTEGERS:  # packed: many numbers in one field
            at = 0
            while at < len(raw):
                self._count()
                number, at = _varint(raw, at)
                target.append(_INTEGERS[field.type](number))
        else:
            target.append(self._value(raw, field))

    def _set_entry(self, target: Object, field: Field, raw: int | bytes) -> None:
        entries: Object = target.setdefault(field.name, {})
        key, value = "", self._value(0 if field.type in _INTEGERS else b"", field)
        for number, part in _records(_bytes(raw, field)):
            self._count()
            if number == 1:
                key = _text(_bytes(part, field))
            elif number == 2:
                value = self._value(part, field)
        entries[key] = value

    def _value(self, raw: int | bytes, field: Field) -> JSON:
        if inner := self.fields.get(field.type):
            return self.message(_bytes(raw, field), inner)
        return self._scalar(raw, field)

    def _scalar(self, raw: int | bytes, field: Field) -> JSON:
        if convert := _INTEGERS.get(field.type):
            if not isinstance(raw, int):
                raise _Broken(f'wrong wire type for field "{field.name}"')
            return convert(raw)
        data = _bytes(raw, field)
        match field.type:
            case "string":
                return _text(data)
            case "bytes":
                return b64encode(data).decode()
            case "-":
                return data
            case "raw":
                return _embedded(self.message(data, _SPECIAL["raw"]).get("raw", b""))
            case "strings":
                return self.message(data, _SPECIAL["strings"]).get("items", [])
            case "quantity":
                return self.message(data, _SPECIAL["quantity"]).get("string") or "0"
            case "intorstring":
                return _int_or_string(self.message(data, _SPECIAL["intorstring"]))
            case "time" | "microtime":
                return _time(self.message(data, _SPECIAL["time"]), field.type) if data else None
        raise _Broken(f'field "{field.name}" has the unknown type {field.type}')


def _bytes(raw: int | bytes, field: Field) -> bytes:
    if isinstance(raw, int):
        raise _Broken(f'wrong wire type for field "{field.name or field.type}"')
    return raw


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _Broken("a text is not UTF-8") from None


def _signed(bits: int, number: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _embedded(data: bytes) -> JSON:
    """A JSON document kept as bytes (managed fields, raw extensions)."""
    if not data:
        return None
    try:
        value = objects.decode(data)
    except (ValueError, RecursionError):
        raise _Broken("an embedded document is not JSON") from None
    if documents.is_too_deep(value):
        raise _Broken("nested too deeply")
    return value


def _int_or_string(parts: Object) -> JSON:
    return str(parts.get("text", "")) if parts.get("type") else int(parts.get("number", 0))


def _time(parts: Object, kind: str) -> str:
    try:
        moment = _EPOCH + timedelta(seconds=parts.get("seconds", 0))
    except OverflowError:
        raise _Broken("a time lies outside the years 1 to 9999") from None
    fraction = f".{parts.get('nanos', 0) // 1000 % 1_000_000:06}" if kind == "microtime" else ""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}{fraction}Z"


_INTEGERS: Mapping[str, Callable[[int], int]] = {
    "bool": bool,
    "int32": lambda number: _signed(32, number),
    "int64": lambda number: _signed(64, number),
}
# Their zero says something ("0", 0): a message holding it was on the wire because somebody set it.
_TELLING_ZEROS = frozenset({"quantity", "intorstring", "strings"})
_SPECIAL: Mapping[str, Message] = {
    "raw": {1: Field("raw", "-")},
    "strings": {1: Field("items", "string", many=True)},
    "quantity": {1: Field("string", "string")},
    "intorstring": {1: Field("type", "int64"), 2: Field("number", "int32"), 3: Field("text", "string")},
    "time": {1: Field("seconds", "int64"), 2: Field("nanos", "int32")},
    "typeMeta": {1: Field("apiVersion", "string"), 2: Field("kind", "string")},
}
_ENVELOPE: Message = {
    1: Field("typeMeta", "typeMeta"),
    2: Field("raw", "-"),
    3: Field("contentEncoding", "string"),
    4: Field("contentType", "string"),
}
