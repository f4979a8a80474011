"""What is not an object: version, health, discovery and OpenAPI, rendered once per set of kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trainshed.apiserver import answers, discovery, negotiation
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.openapi import OpenApi
from trainshed.apiserver.registry import Registry
from trainshed.apiserver.requests import Request
from trainshed.kube.objects import Object, encode

Health = Callable[[], Mapping[str, str]]
"""From nothing to what is wrong, by check; all well when every value is empty."""


@dataclass(slots=True)
class Documents:
    registry: Registry
    openapi: OpenApi
    address: str
    health: Health
    extra: Mapping[str, Callable[[], Object]] = field(default_factory=dict)
    """Other paths that answer with one object."""
    _rendered: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _generation: int = -1

    def find(self, path: str, request: Request) -> Answer | None:
        if path in ("/healthz", "/livez", "/readyz") or path.startswith(("/livez/", "/readyz/", "/healthz/")):
            return self._health(path, request)
        if path.startswith("/openapi"):
            hash, accept, encodings = (
                request.query.get("hash"),
                *map(request.header, (b"accept", b"accept-encoding")),
            )
            return self.openapi.find(path, hash, accept, self.registry, encodings)
        if path == "/version":
            return answers.of(discovery.version())
        if path in self.extra:
            return answers.of(self.extra[path]())
        return self._discovery(path, request.header(b"accept"), request.header(b"if-none-match"))

    # --- health -------------------------------------------------------------------------------------------

    def _health(self, path: str, request: Request) -> Answer | None:
        """Alive is a process that answers; ready (and healthy) is one that can also write."""
        found = self.health()
        endpoint, _, rest = path.lstrip("/").partition("/")
        if endpoint == "livez":
            found = {"ping": ""}
        if rest:
            if rest not in found:
                return None
            found = {rest: found[rest]}
        failing = {name: why for name, why in found.items() if why}
        status = 500 if failing else 200
        if not failing and not request.query.has("verbose"):
            return Answer(b"ok", 200, b"text/plain; charset=utf-8")
        lines = [f"[-]{name} failed: {why}" if why else f"[+]{name} ok" for name, why in found.items()]
        end = f"{endpoint} check {'failed' if failing else 'passed'}"
        return Answer("\n".join([*lines, end, ""]).encode(), status, b"text/plain; charset=utf-8")

    # --- discovery ----------------------------------------------------------------------------------------

    def _discovery(self, path: str, accept: str, known: str) -> Answer | None:
        if self._generation != self.registry.generation:
            self._rendered.clear()
            self._generation = self.registry.generation
        beta = negotiation.discovery_version(accept) if path in ("/api", "/apis") else ""
        answer = self._rendered.get((path, beta))
        if answer is None:
            answer = self._render(path, beta)
            if answer is None:
                return None
            self._rendered[path, beta] = answer
        if known and (b"etag", known.encode("latin-1")) in answer.headers:
            return Answer(b"", 304, answer.content_type, answer.headers)
        return answer

    def _render(self, path: str, aggregated: str) -> Answer | None:
        kinds = self.registry.kinds()
        if aggregated:
            body = discovery.aggregated(kinds, core=path == "/api", beta=aggregated == "v2beta1")
            return _tagged(body, negotiation.DISCOVERY_TYPES[aggregated])
        found = self._legacy(path)
        return None if found is None else _tagged(encode(found), negotiation.JSON_TYPE)

    def _legacy(self, path: str) -> Object | None:
        kinds, parts = self.registry.kinds(), path.strip("/").split("/")
        if path == "/":
            return {"paths": self._paths()}
        match parts:
            case ["api"]:
                return discovery.api_versions(self.address.removeprefix("https://"))
            case ["apis"]:
                return discovery.group_list(kinds)
            case ["apis", group]:
                return discovery.group(kinds, group)
            case ["api", version]:
                return discovery.resource_list(kinds, "", version)
            case ["apis", group, version]:
                return discovery.resource_list(kinds, group, version)
        return None

    def _paths(self) -> list[str]:
        found = {"/api", "/apis", "/healthz", "/livez", "/readyz", "/openapi/v2", "/openapi/v3", "/version"}
        for kind in self.registry.kinds():
            found.add(f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}")
            if kind.group:
                found.add(f"/apis/{kind.group}")
        return sorted(found)


def _tagged(body: bytes, content_type: str) -> Answer:
    headers = [(b"etag", f'"{discovery.digest(body)}"'.encode()), (b"vary", b"Accept")]
    return Answer(body, 200, content_type.encode(), headers)
