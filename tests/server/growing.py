"""Objects grown from the published schemas: mostly of the right types, so that they reach the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tests.server.mutations import odd_value
from tests.server.routes import Route
from tests.server.wire import Wire
from trainshed.kube.objects import JSON, Object

TEXTS = (
    "a", "a-b", "main", "victim", "web", "a.example.com", "example.com/a", "1", "0", "-1", "100m", "1Gi",
    "50%", "101%", "True", "Always", "Never",
    "Exists", "In", "Equal", "NoSchedule", "Pod", "Job", "v1", "batch/v1", "10.0.0.1", "::1", "10.0.0.0/8",
    "TCP", "/data", "../x", "", " ", "A_B", "ß",
    "*/5 * * * *", "@daily", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z", "metadata.name",
    "metadata.labels['a']", "limits.cpu",
    "AAE=", "not base64!", "self.size > 1", "[a-z]+", "[", ".spec.a", "object", "string", "integer",
    "array", "spec.nodeName", "Ignore",
    "kubernetes.io/service-account-token", "kubernetes.io/dockerconfigjson", "ClusterIP", "ExternalName",
    "Indexed", "Terminated",
)  # fmt: skip
DEEPEST = 9


class Garden:
    """The schemas of all kinds, and random objects that follow them (except where `wild` says no)."""

    def __init__(self, wire: Wire, random: Random, wild: float = 0.01) -> None:
        self._wire, self._random, self._wild = wire, random, wild
        self._documents: dict[str, Mapping[str, Object]] = {}
        self._roots: dict[tuple[str, str], Object] = {}

    def grow(self, route: Route, name: str) -> Object:
        """An object of a route's kind with some of its fields, at every depth."""
        found: JSON = self._object(self._root(route), self._schemas(route), 0)
        meta = found.get("metadata")
        if isinstance(meta, dict):
            for field in ("resourceVersion", "uid", "namespace", "deletionTimestamp", "generateName"):
                meta.pop(field, None)
            found["metadata"] = meta | {"name": name}
        whole: Object = found | {"apiVersion": route.api_version, "kind": route.kind}
        whole.setdefault("metadata", {"name": name})
        return whole

    def field(self, route: Route, name: str) -> JSON:
        """A value for one top-level field (`spec`, `status`) of a route's kind."""
        return self._value(self._root(route).get("properties", {}).get(name, {}), self._schemas(route), 1)

    def fields(self, route: Route) -> Sequence[str]:
        return sorted(set(self._root(route).get("properties", {})) - {"apiVersion", "kind", "metadata"}) or [
            "spec"
        ]

    def _schemas(self, route: Route) -> Mapping[str, Object]:
        path = f"apis/{route.api_version}" if route.group else f"api/{route.version}"
        if path not in self._documents:
            read = self._wire.ask("GET", f"/openapi/v3/{path}").object()
            self._documents[path] = read["components"]["schemas"]
        return self._documents[path]

    def _root(self, route: Route) -> Object:
        key = (route.api_version, route.kind)
        if key not in self._roots:
            wanted = {"group": route.group, "version": route.version, "kind": route.kind}
            self._roots[key] = next(
                (
                    node
                    for node in self._schemas(route).values()
                    if wanted in node.get("x-kubernetes-group-version-kind", ())
                ),
                {},
            )
        return self._roots[key]

    def _value(self, node: Object, schemas: Mapping[str, Object], depth: int) -> JSON:
        random = self._random
        if random.random() < self._wild:
            return odd_value(random)
        while "$ref" in node or node.get("allOf"):
            node = schemas.get(node["$ref"].rpartition("/")[2], {}) if "$ref" in node else node["allOf"][0]
        if node.get("enum"):
            return random.choice(node["enum"])
        match node.get("type"):
            case "object":
                return self._object(node, schemas, depth)
            case "array":
                length = random.choice((0, 1, 1, 1, 2)) if depth < DEEPEST else 0
                return [self._value(node.get("items", {}), schemas, depth + 1) for _ in range(length)]
            case "integer":
                return random.choice((0, 1, 1, 2, 3, 80, 443, 65536, -1, 2**31 - 1, 2**31, 2**40))
            case "number":
                return random.choice((0, 0.5, 1, 1e6, -1))
            case "boolean":
                return random.random() < 0.5
        return (
            random.choice(TEXTS)
            if node.get("type") == "string"
            else random.choice((*TEXTS[:12], 1, 5, {"a": "b"}))
        )

    def _object(self, node: Object, schemas: Mapping[str, Object], depth: int) -> Object:
        random, known = self._random, node.get("properties") or {}
        inner = node.get("additionalProperties")
        if not known and isinstance(inner, dict) and depth < DEEPEST:
            return {
                random.choice(TEXTS): self._value(inner, schemas, depth + 1)
                for _ in range(random.randrange(3))
            }
        required = node.get("required") or ()
        share = 0.9 if depth == 0 else min(0.6, 3 / (len(known) + 1))
        chosen = [
            key
            for key in known
            if random.random() < (0.97 if key in required else share if depth < DEEPEST else 0)
        ]
        return {key: self._value(known[key], schemas, depth + 1) for key in chosen}
