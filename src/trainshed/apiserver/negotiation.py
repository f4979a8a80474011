"""What a client accepts and what it sends: Accept headers, content types, and request bodies as objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from trainshed.kube import documents, faults
from trainshed.kube.objects import JSON, Object

Form = Literal["json", "yaml", "table", "partial", "partial-list"]
PatchForm = Literal["json", "merge", "strategic", "apply"]

JSON_TYPE = "application/json"
YAML_TYPE = "application/yaml"
PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"
DISCOVERY_TYPES = {
    version: f"{JSON_TYPE};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
}
PATCH_TYPES: Mapping[str, PatchForm] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_CONVERSIONS: Mapping[str, Form] = {
    "Table": "table",
    "PartialObjectMetadata": "partial",
    "PartialObjectMetadataList": "partial-list",
}
_UNKNOWN_FORMAT = "the body of the request was in an unknown format - accepted media types include: "


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form an answer should have; the version is that of Table and PartialObjectMetadata."""

    form: Form
    table_version: str = "v1"


@dataclass(frozen=True, slots=True)
class Clause:
    """One entry of an Accept header."""

    media_type: str
    parameters: Mapping[str, str]
    quality: float


# --- answers ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def answer_form(accept: str, streaming: bool = False) -> Wanted:
    """The first form in the client's order that we can write; NotAcceptable when there is none.

    Protobuf is never written: every client that asks for it also takes JSON. Streams are JSON only.
    """
    for clause in clauses(accept):
        if (wanted := _form_of(clause, streaming)) is not None:
            return wanted
    offered = [JSON_TYPE] if streaming else [JSON_TYPE, YAML_TYPE]
    raise faults.NotAcceptable("only the following media types are accepted: " + ", ".join(offered))


def discovery_version(accept: str) -> str:
    """`v2` or `v2beta1` when the client wants aggregated discovery, empty for the old documents."""
    for clause in clauses(accept):
        if clause.media_type not in (JSON_TYPE, "application/*", "*/*"):
            continue
        asked = clause.parameters
        if "as" not in asked:
            return ""
        if asked["as"] == "APIGroupDiscoveryList" and asked.get("g") == "apidiscovery.k8s.io":
            version = asked.get("v", "")
            if version in DISCOVERY_TYPES:
                return version
    return ""


def clauses(accept: str) -> list[Clause]:
    """The header's entries, best first; no header means anything."""
    found = [_clause(part) for part in accept.split(",") if part.strip()]
    if not found:
        return [Clause("*/*", {}, 1.0)]
    return sorted((clause for clause in found if clause.quality > 0), key=lambda clause: -clause.quality)


def _form_of(clause: Clause, streaming: bool) -> Wanted | None:
    if clause.media_type in (JSON_TYPE, "application/*", "*/*"):
        return _converted(clause.parameters)
    if clause.media_type == YAML_TYPE and not streaming and "as" not in clause.parameters:
        return Wanted("yaml")
    return None


def _converted(parameters: Mapping[str, str]) -> Wanted | None:
    conversion = parameters.get("as")
    if conversion is None:
        return Wanted("json")
    form, version = _CONVERSIONS.get(conversion), parameters.get("v", "")
    if form is None or parameters.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    return Wanted(form, version)


def _clause(text: str) -> Clause:
    media_type, *rest = (part.strip() for part in text.split(";"))
    parameters: dict[str, str] = {}
    for part in rest:
        name, _, value = part.partition("=")
        parameters[name.strip().lower()] = value.strip().strip('"')
    return Clause(media_type.lower(), parameters, _quality(parameters.pop("q", "1")))


def _quality(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return 1.0
    return number if 0 <= number <= 1 else 1.0


# --- bodies -----------------------------------------------------------------------------------------------


def media_type(content_type: str) -> str:
    """The bare type; a missing header means JSON, as several Python clients send none."""
    return content_type.partition(";")[0].strip().lower() or JSON_TYPE


def decode_body(
    data: bytes,
    content_type: str,
    *,
    kind: str = "",
    duplicates: list[str] | None = None,
    protobuf: Callable[[bytes], Object] | None = None,
) -> Object:
    """The object a request carries.

    `kind` is what the path expects, for messages. Repeated keys are described in `duplicates`, worded as
    strict decoding errors; pass None (fieldValidation=Ignore) to save the search.
    """
    found = media_type(content_type)
    if found == PROTOBUF_TYPE and protobuf is not None:
        return protobuf(data)
    if found not in (JSON_TYPE, YAML_TYPE):
        offered = [JSON_TYPE, YAML_TYPE] + [PROTOBUF_TYPE] * (protobuf is not None)
        raise faults.UnsupportedMediaType(_UNKNOWN_FORMAT + ", ".join(offered))
    try:
        value = _read_yaml(data, duplicates) if found == YAML_TYPE else _read_json(data, duplicates)
    except ValueError as error:
        raise _unreadable(data, kind, f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {documents.named(value)} into Go value of type struct"
        raise _unreadable(data, kind, f"couldn't get version/kind; json parse error: {why}")
    return value


def patch_form(content_type: str, *, custom: bool) -> PatchForm:
    """How a PATCH body is meant; custom kinds take no strategic merge patches."""
    form = PATCH_TYPES.get(content_type.partition(";")[0].strip().lower())
    if form is None or (custom and form == "strategic"):
        offered = [name for name, form in PATCH_TYPES.items() if not (custom and form == "strategic")]
        raise faults.UnsupportedMediaType(_UNKNOWN_FORMAT + ", ".join(offered))
    return form


def decode_patch(data: bytes, form: PatchForm, duplicates: list[str] | None = None) -> JSON:
    """A patch body; apply patches are YAML by name, but nearly always JSON inside."""
    try:
        value = _read_yaml(data, duplicates) if form == "apply" else _read_json(data, duplicates)
    except ValueError as error:
        what = "yaml" if form == "apply" else "json"
        raise faults.BadRequest(f"error decoding patch: error decoding {what.upper()}: {error}") from None
    wanted: type = list if form == "json" else dict
    if not isinstance(value, wanted):
        target = "[]" if form == "json" else "map"
        why = f"json: cannot unmarshal {documents.named(value)} into Go value of type {target}"
        raise faults.BadRequest(f"error decoding patch: {why}")
    return value


def _read_json(data: bytes, duplicates: list[str] | None) -> JSON:
    value = documents.read_json(data)
    if duplicates is not None:
        duplicates.extend(f'duplicate field "{path}"' for path in documents.find_duplicates(data, value))
    return value


def _read_yaml(data: bytes, duplicates: list[str] | None) -> JSON:
    if data.lstrip()[:1] == b"{":
        try:
            return _read_json(data, duplicates)
        except ValueError:
            pass  # YAML's own braces may lack quotes
    return documents.read_yaml(data, duplicates)


def _unreadable(data: bytes, kind: str, why: str) -> faults.BadRequest:
    expected = f" (must be of type {kind})" if kind else ""
    return faults.BadRequest(f"the object provided is unrecognized{expected}: {why} ({_excerpt(data)})")


def _excerpt(data: bytes) -> str:
    if not data:
        return "<empty>"
    more = " ..." if len(data) > 30 else ""
    start = data[:30]
    return (start.decode(errors="replace") if start[:1] == b"{" else start.hex()) + more
