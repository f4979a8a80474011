"""OpenAPI documents: one per group and version (v3), all in one (v2), rendered on demand and kept compressed.

kubectl needs the v3 documents to explain, create, apply and edit. They are megabytes of text, so each is put
together from encoded definitions, and its address carries a hash by which clients may keep it for ever.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Raw

from trainshed.apiserver import negotiation, operations, swagger
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.operations import META, PREFIX
from trainshed.kinds import release
from trainshed.kinds.kind import Kind
from trainshed.kube import faults
from trainshed.kube.objects import Object, encode

Definitions = Callable[[], Mapping[str, Object]]

INFO = {"title": "Kubernetes", "version": release.KUBERNETES}
PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Spelled with a dot: Go's MIME parser rejects the `@` that clients write in their Accept header."""
_V2, _V3 = "/openapi/v2", "/openapi/v3"
_READABLE = (negotiation.JSON_TYPE, "application/*", "*/*")
_FORM = "1"
"""Part of every hash: raise it when the same kinds and definitions give another document."""
_FOR_EVER = [(b"cache-control", b"public, immutable"), (b"expires", b"Fri, 01 Jan 2100 00:00:00 GMT")]
_NEVER = [(b"cache-control", b"no-cache, private")]
_VARY = (b"vary", b"Accept, Accept-Encoding")
_REFERENCE = re.compile(rb'"#/components/schemas/([^"]+)"')


class Served(Protocol):
    """The registry, as far as it matters here."""

    generation: int

    def kinds(self) -> tuple[Kind, ...]: ...


@dataclass(slots=True)
class _Kept:
    digest: str
    packed: bytes = b""


class OpenApi:
    """All documents of a server. `edition` names the built-in definitions; without it they are hashed."""

    def __init__(self, definitions: Definitions, edition: str = "") -> None:
        self._definitions, self._edition = definitions, edition
        self._generation = -1
        self._kept: dict[str, _Kept] = {}

    def find(self, path: str, hash: str, accept: str, served: Served, encodings: str = "") -> Answer | None:
        """The answer for a path below /openapi; `encodings` is the Accept-Encoding header."""
        path = path.rstrip("/")
        if path == _V2 and "proto-openapi" in accept:
            return Answer(b"", 200, PROTOBUF_V2.encode(), [*_NEVER, _VARY])
        if not any(clause.media_type in _READABLE for clause in negotiation.clauses(accept)):
            raise faults.NotAcceptable("only the following media types are accepted: application/json")
        self._refresh(served)
        if path == _V3:
            return Answer(encode(self._index()), 200, headers=[*_NEVER, _VARY])
        return self._answer(path, hash, served.kinds(), encodings) if path in self._kept else None

    def _refresh(self, served: Served) -> None:
        """Forget documents whose kinds have changed; the others stay as they are."""
        if self._generation == served.generation:
            return
        kinds = served.kinds()
        fresh = {path: _Kept(self._digest(members)) for path, members in by_path(kinds).items()}
        fresh[_V2] = _Kept(self._digest(kinds))
        for path, old in self._kept.items():
            if path in fresh and fresh[path].digest == old.digest:
                fresh[path] = old
        self._kept, self._generation = fresh, served.generation

    def _digest(self, kinds: Sequence[Kind]) -> str:
        if not self._edition:
            self._edition = _edition(self._definitions())
        parts = [_FORM, INFO["version"], self._edition]
        for kind in kinds:
            paths = encode(operations.paths(kind, "v3"))
            parts += [kind.definition, kind.list_kind, kind.edition, hashlib.sha256(paths).hexdigest()]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest().upper()

    def _index(self) -> Object:
        listed = {path: kept.digest for path, kept in self._kept.items() if path != _V2}
        return {
            "paths": {
                path.removeprefix(f"{_V3}/"): {"serverRelativeURL": f"{path}?hash={digest}"}
                for path, digest in listed.items()
            }
        }

    def _answer(self, path: str, hash: str, kinds: Sequence[Kind], encodings: str) -> Answer:
        kept = self._kept[path]
        if hash and hash != kept.digest:
            target = f"{path}?hash={kept.digest}"
            return Answer(b"", 301, headers=[(b"location", target.encode()), *_NEVER])
        if not kept.packed:
            kept.packed = _packed(self._render(path, kinds))
        headers = [(b"etag", f'"{kept.digest}"'.encode()), *(_FOR_EVER if hash else _NEVER), _VARY]
        if "gzip" in encodings:
            return Answer(kept.packed, 200, headers=[*headers, (b"content-encoding", b"gzip")])
        return Answer(zlib.decompress(kept.packed, wbits=31), 200, headers=headers)

    def _render(self, path: str, kinds: Sequence[Kind]) -> bytes:
        definitions = self._definitions()
        if path == _V2:
            return swagger.document(kinds, lambda members: components(members, definitions), INFO)
        return document(by_path(kinds)[path], definitions)


def by_path(kinds: Sequence[Kind]) -> dict[str, list[Kind]]:
    """The kinds of each v3 document, by its path: `/openapi/v3/api/v1`, `/openapi/v3/apis/batch/v1`."""
    found: dict[str, list[Kind]] = {}
    for kind in kinds:
        name = f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"
        found.setdefault(f"{_V3}/{name}", []).append(kind)
    return dict(sorted(found.items()))


def document(kinds: Sequence[Kind], definitions: Mapping[str, Object]) -> bytes:
    """The v3 document of kinds of one group and version."""
    paths: dict[str, Object] = {}
    for kind in kinds:
        paths |= operations.paths(kind, "v3")
    return encode(
        {
            "openapi": "3.0.0",
            "info": INFO,
            "paths": dict(sorted(paths.items())),
            "components": {
                "schemas": {name: Raw(text) for name, text in sorted(components(kinds, definitions).items())},
                "securitySchemes": {
                    "BearerToken": {
                        "type": "apiKey",
                        "name": "authorization",
                        "in": "header",
                        "description": "Bearer token",
                    }
                },
            },
        }
    )


def components(kinds: Sequence[Kind], definitions: Mapping[str, Object]) -> dict[str, bytes]:
    """Every schema the kinds need, encoded: their own, those of their lists, and all they refer to."""
    found: dict[str, bytes] = {}
    waiting = [f"{META}.{name}" for name in ("DeleteOptions", "Patch", "Status")]
    for kind in kinds:
        if kind.scale is not None:
            waiting.append("io.k8s.api.autoscaling.v1.Scale")
        if kind.source is None:
            waiting += [kind.definition, operations.list_definition(kind)]
            continue
        # One custom schema at a time: decoded, such a schema takes ten times the room of its text.
        for name, schema in custom_schemas(kind, definitions).items():
            found[name] = encode(schema)
            waiting += _references(found[name])
    while waiting:
        name = waiting.pop()
        if name in found or name not in definitions:
            continue
        found[name] = _text(definitions, name)
        waiting += _references(found[name])
    return found


def _text(definitions: Mapping[str, Object], name: str) -> bytes:
    """A definition as JSON text; taken as it lies where the mapping keeps it so."""
    raw: Callable[[str], bytes] | None = getattr(definitions, "raw", None)
    return raw(name) if raw is not None else encode(definitions[name])


def _edition(definitions: Mapping[str, Object]) -> str:
    found = hashlib.sha256()
    for name in definitions:
        found.update(_text(definitions, name))
    return found.hexdigest()


def _references(text: bytes) -> list[str]:
    return [name.decode() for name in set(_REFERENCE.findall(text))]


def custom_schemas(kind: Kind, definitions: Mapping[str, Object]) -> dict[str, Object]:
    """The schemas of a custom kind and of its list, with the members that objects of any kind have."""
    own = dict(kind.source()) if kind.source is not None else {}
    # A schema without properties is left so: clients take it for open.
    if own:
        own["properties"] = {**(own.get("properties") or {}), **_common(definitions, "Pod", "ObjectMeta")}
    own |= {"type": "object", "x-kubernetes-group-version-kind": [_gvk(kind, kind.kind)]}
    item = {"allOf": [{"$ref": PREFIX["v3"] + kind.definition}], "default": {}}
    listed = {
        "type": "object",
        "description": f"{kind.list_kind} is a list of {kind.kind}",
        "required": ["items"],
        "properties": {
            **_common(definitions, "PodList", "ListMeta"),
            "items": {"type": "array", "description": f"List of {kind.plural}.", "items": item},
        },
        "x-kubernetes-group-version-kind": [_gvk(kind, kind.list_kind)],
    }
    return {kind.definition: own, operations.list_definition(kind): listed}


def _common(definitions: Mapping[str, Object], model: str, meta: str) -> Object:
    """apiVersion, kind and metadata, described as those of a built-in kind are."""
    name = f"io.k8s.api.core.v1.{model}"
    described = definitions[name].get("properties", {}) if name in definitions else {}
    texts = {
        field: {"description": described[field]["description"]}
        for field in ("apiVersion", "kind", "metadata")
        if "description" in described.get(field, {})
    }
    reference = {"allOf": [{"$ref": f"{PREFIX['v3']}{META}.{meta}"}], "default": {}}
    return {
        "apiVersion": {"type": "string"} | texts.get("apiVersion", {}),
        "kind": {"type": "string"} | texts.get("kind", {}),
        "metadata": reference | texts.get("metadata", {}),
    }


def _gvk(kind: Kind, name: str) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": name}


def _packed(body: bytes) -> bytes:
    packer = zlib.compressobj(6, wbits=31)
    return packer.compress(body) + packer.flush()
