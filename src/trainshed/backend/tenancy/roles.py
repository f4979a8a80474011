"""What tenants may do, as ClusterRoles that every tenant's bindings refer to; pure.

Left out on purpose: pods/exec, attach and port-forward (a shell in a pod outlives a token), making pods,
jobs, roles, accounts or services by hand, and changing the namespace, its quota or its limits.
"""

from __future__ import annotations

from typing import Final

from trainshed.kube.objects import Object

ACCOUNT: Final = "tenant"
"""The service account behind a tenant's tokens; the same name everywhere, so one role fits all."""
NAMESPACED: Final = "trainshed-tenant"
CLUSTER_WIDE: Final = "trainshed-tenant-runtimes"
_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")
_TRAINER: Final = "trainer.kubeflow.org"
_LABELS: Final = {"app.kubernetes.io/managed-by": "trainshed"}


def _on(group: str, verbs: tuple[str, ...], *resources: str, names: tuple[str, ...] = ()) -> Object:
    rule: Object = {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}
    return {**rule, "resourceNames": [*names]} if names else rule


def _role(name: str, *rules: Object) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": dict(_LABELS)},
        "rules": [*rules],
    }


def namespaced() -> Object:
    """What a tenant may do inside its namespace."""
    return _role(
        NAMESPACED,
        _on(_TRAINER, (*_READ, *_WRITE), "trainjobs", "trainingruntimes"),
        _on(_TRAINER, ("get",), "trainjobs/status"),
        _on("jobset.x-k8s.io", _READ, "jobsets"),
        _on("batch", _READ, "jobs"),
        _on("", (*_READ, *_WRITE), "configmaps", "secrets", "persistentvolumeclaims"),
        _on("", _READ, "pods", "events", "resourcequotas", "limitranges"),
        _on("events.k8s.io", _READ, "events"),
        _on("", ("get",), "pods/log", "namespaces"),
        _on("", ("get",), "serviceaccounts", names=(ACCOUNT,)),
        _on("", ("create",), "serviceaccounts/token", names=(ACCOUNT,)),
    )


def cluster_wide() -> Object:
    """What a tenant may read of what all share."""
    return _role(CLUSTER_WIDE, _on(_TRAINER, _READ, "clustertrainingruntimes"))
