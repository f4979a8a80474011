"""The kinds a tenant is made of; they are the same on every cluster, so nobody has to be asked."""

from __future__ import annotations

from typing import Final

from trainshed.client.requests import Resource

NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", False)
QUOTAS: Final = Resource("", "v1", "resourcequotas", "ResourceQuota", True)
LIMITS: Final = Resource("", "v1", "limitranges", "LimitRange", True)
ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount", True)
SECRETS: Final = Resource("", "v1", "secrets", "Secret", True)
_RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", False)
BINDINGS: Final = Resource(_RBAC, "v1", "rolebindings", "RoleBinding", True)
SHARED_BINDINGS: Final = Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False)

BY_KIND: Final = {
    kind.kind: kind
    for kind in (NAMESPACES, QUOTAS, LIMITS, ACCOUNTS, SECRETS, ROLES, BINDINGS, SHARED_BINDINGS)
}
