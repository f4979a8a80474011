"""Every route of the OpenAPI document as a stranger would try it: with somebody else's names everywhere."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

from trainshed.kube.objects import JSON, Object

HEADERS: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"},
    {"X-Remote-User": "admin", "X-Remote-Group": "system:masters", "X-Forwarded-User": "admin"},
    {"X-Original-URL": "/api/tenants", "X-HTTP-Method-Override": "DELETE", "X-Forwarded-For": "127.0.0.1"},
)
"""What some proxies trust; here nobody may."""


@dataclass(frozen=True)
class Belongings:
    """What a tenant has, by the names requests use."""

    namespace: str
    job: str
    uid: str
    runtime: str
    secret: str
    claim: str
    token: str
    user: str

    def named(self, parameter: str, path: str) -> str:
        """The value for a parameter of a route, if it is a name of something."""
        if parameter == "name":
            return self.runtime if path.startswith("/api/runtimes") else self.job
        return {
            "namespace": self.namespace, "tenant": self.namespace, "uid": self.uid, "id": self.token,
            "user_id": self.user, "label_selector": f"trainshed.dev/user={self.user}",
        }.get(parameter, "")  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    method: str
    route: str
    """As the document writes it."""
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: JSON = None
    files: Mapping[str, tuple[str, bytes]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    def request(self) -> dict[str, JSON]:
        sent: dict[str, JSON] = {"params": dict(self.query), "headers": dict(self.headers)}
        if self.files is not None:
            return {**sent, "data": self.body, "files": dict(self.files)}
        return {**sent, "json": self.body} if self.body is not None else sent

    def __str__(self) -> str:
        return f"{self.method} {self.path} {dict(self.query)} {dict(self.headers)} {self.body}"


def attempts(document: Object, theirs: Belongings, mine: str) -> Iterator[Attempt]:
    """Everything to try, what only reads first: a change that went through would hide what follows."""
    found = [one for route in routes(document) for one in _of_route(document, *route, theirs, mine)]
    yield from sorted(found, key=lambda one: (one.changes, one.method == "DELETE"))


def routes(document: Object) -> Iterator[tuple[str, str, Object]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _of_route(
    document: Object, method: str, route: str, operation: Object, theirs: Belongings, mine: str
) -> Iterator[Attempt]:
    parameters = operation.get("parameters", [])
    path = route
    for one in parameters:
        if one["in"] == "path":
            value = theirs.named(one["name"], route)
            assert value, f"{route}: say in Belongings.named what a stranger would put for {one['name']}"
            path = path.replace(f"{{{one['name']}}}", value)
    queries = list(_queries([one for one in parameters if one["in"] == "query"], theirs, route, mine))
    for body, files in _bodies(document, route, operation, theirs, mine):
        plain = Attempt(method, route, path, body=body, files=files)
        for query in queries:
            yield replace(plain, query=query)
        for headers in HEADERS[1:]:
            yield replace(plain, query=queries[0], headers=headers)
        yield from _tricks(plain, route, theirs, mine)


def _queries(parameters: list[Object], theirs: Belongings, route: str, mine: str) -> Iterator[dict[str, str]]:
    known = {one["name"] for one in parameters}
    place = {"namespace": theirs.namespace} if "namespace" in known else {}
    yield place
    yield {}
    every = {one["name"]: theirs.named(one["name"], route) or _sample(one) for one in parameters}
    yield {name: value for name, value in every.items() if value and name != "all_namespaces"}
    if "all_namespaces" in known:
        yield {"all_namespaces": "true"}
    if "namespace" in known:
        for trick in (f"{mine}/../{theirs.namespace}", f"{mine},{theirs.namespace}", "*", "", "..", "%2e%2e"):
            yield {"namespace": trick}
    # Not parameters of this service, but of the API behind it.
    yield {**place, "labelSelector": "", "fieldSelector": f"metadata.namespace={theirs.namespace}"}


def _sample(parameter: Object) -> str:
    """A value that a parameter takes: an example, else by its type."""
    schema = parameter.get("schema", {})
    if found := parameter.get("examples") or schema.get("examples"):
        return str(found[0]) if isinstance(found, list) else ""
    choices = [schema, *schema.get("anyOf", [])]
    kinds = [choice.get("type") for choice in choices]
    return "0" if "integer" in kinds else "true" if "boolean" in kinds else ""


def _tricks(plain: Attempt, route: str, theirs: Belongings, mine: str) -> Iterator[Attempt]:
    """Names that are paths."""
    if "{name}" in route:
        for name in (
            f"../../{theirs.namespace}/{theirs.job}", f"..%2F..%2Fnamespaces%2F{theirs.namespace}",
            f"x/../../../../../namespaces/{theirs.namespace}/secrets/{theirs.secret}",
            f"{theirs.job}?namespace={theirs.namespace}", f"{theirs.job}#", f"{theirs.job}\x00",
            f"{theirs.job}%0a",
        ):  # fmt: skip
            yield replace(plain, path=route.replace("{name}", quote(name, safe="%")))
    if "{tenant}" in route:
        for tenant in (
            f"{mine}/../{theirs.namespace}",
            f"{mine}%2f..%2f{theirs.namespace}",
            f"{theirs.namespace}.",
        ):
            path = route.replace("{tenant}", quote(tenant, safe="%")).replace("{id}", theirs.token)
            yield replace(plain, path=path)
            yield replace(plain, path=route.replace("{tenant}", mine).replace("{id}", theirs.token))


# --- bodies -------------------------------------------------------------------------------------------------


def _bodies(
    document: Object, route: str, operation: Object, theirs: Belongings, mine: str
) -> Iterator[tuple[JSON, Mapping[str, tuple[str, bytes]] | None]]:
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        yield None, None
    elif "multipart/form-data" in content:
        for body in _jobs(theirs, mine):
            form = {"request": json.dumps({key: body[key] for key in body if key != "training_code"})}
            yield form, {"archive": ("code.zip", _zip())}
    elif route.startswith("/api/trainjob"):
        for body in _jobs(theirs, mine):
            yield body, None
    else:
        yield _aimed(_example(document, content["application/json"]["schema"], route), theirs), None


def _jobs(theirs: Belongings, mine: str) -> Iterator[Object]:
    """Jobs in their namespace, and jobs at home that reach for their things."""
    config = {"num_nodes": 1, "gpu_per_node": 0, "cpu_per_node": "10m", "memory_per_node": "16Mi"}
    job: Object = {
        "user_id": theirs.user, "namespace": theirs.namespace, "framework": "pytorch",
        "training_code": "print(1)", "config": config, "suspend": True,
    }  # fmt: skip
    yield job
    yield {**job, "namespace": mine, "runtime": theirs.runtime}
    yield {**job, "namespace": f"{mine}/../{theirs.namespace}"}
    yield {**job, "name": theirs.job, "idempotency_key": theirs.job}


def _example(document: Object, schema: Object, route: str) -> Object:
    schema = schema.get("anyOf", [schema])[0]  # a body that may be left out
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert schema.get("examples"), f"{route}: its body has no example"
    found: Object = schema["examples"][0]
    return found


def _aimed(body: Object, theirs: Belongings) -> Object:
    return {**body, **({"name": theirs.namespace} if "name" in body else {})}


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("train.py", "print(1)")
    return packed.getvalue()
