"""Every route the server serves, from its own discovery documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.server.wire import Wire
from trainshed.kube.objects import Object

METHODS = {
    "get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETE",
}  # fmt: skip
ON_COLLECTION = ("list", "watch", "create", "deletecollection")
DOCUMENTS = (
    "/", "/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/livez/ping", "/openapi/v2",
    "/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/apis/batch/v1", "/api/v1", "/apis/batch",
    "/apis/batch/v1",
)  # fmt: skip
PUBLIC = ("/version", "/healthz", "/livez", "/readyz", "/livez/ping")


@dataclass(frozen=True)
class Route:
    """One resource or subresource."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    subresource: str = ""

    @property
    def resource(self) -> str:
        """`pods`, `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str, name: str = "") -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if self.namespaced else ""
        return "/".join(filter(None, [f"{root}{place}/{self.plural}", name, self.subresource]))

    def calls(self, namespace: str, name: str) -> Iterator[tuple[str, str, str]]:
        """Verb, method and path of everything this route says it can do."""
        for verb in self.verbs:
            at_collection = verb in ON_COLLECTION and not self.subresource
            path = self.path(namespace, "" if at_collection else name)
            yield verb, METHODS[verb], path + ("?watch=1&timeoutSeconds=1" if verb == "watch" else "")


def discovered(wire: Wire) -> Sequence[Route]:
    """All routes, sorted, so that a seed always meets the same ones."""
    found = list(_of_version(wire, "", "v1", "/api/v1"))
    for group in wire.ask("GET", "/apis").object()["groups"]:
        for version in group["versions"]:
            path = f"/apis/{group['name']}/{version['version']}"
            found += _of_version(wire, group["name"], version["version"], path)
    return sorted(found, key=lambda route: (route.group, route.version, route.plural, route.subresource))


def _of_version(wire: Wire, group: str, version: str, path: str) -> Iterator[Route]:
    listed: Sequence[Object] = wire.ask("GET", path).object()["resources"]
    for entry in listed:
        plural, _, subresource = entry["name"].partition("/")
        yield Route(
            group, version, plural, entry["kind"], entry["namespaced"], tuple(entry["verbs"]), subresource
        )
