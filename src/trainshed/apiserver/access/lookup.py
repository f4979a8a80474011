"""The window through which access decisions see stored objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from trainshed.kube.objects import Object

CLUSTER_ROLES = "clusterroles.rbac.authorization.k8s.io"
CLUSTER_ROLE_BINDINGS = "clusterrolebindings.rbac.authorization.k8s.io"
ROLES = "roles.rbac.authorization.k8s.io"
ROLE_BINDINGS = "rolebindings.rbac.authorization.k8s.io"


class Lookup(Protocol):
    """Reads of durable objects; what it returns is never changed by the reader.

    Resources are named as in messages: `pods`, `roles.rbac.authorization.k8s.io`.
    """

    def get(self, resource: str, namespace: str, name: str) -> Object | None: ...

    def list(self, resource: str, namespace: str | None) -> Iterable[Object]:
        """All objects of a resource, sorted by namespace and name; None means every namespace."""
        ...

    def revision_of(self, resources: tuple[str, ...]) -> int:
        """A number that grows with every change (also a deletion) of any of the resources; cheap."""
        ...
