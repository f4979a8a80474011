"""Callers who may do some things and not others: service accounts with roles of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainshed.client.client import Client
from trainshed.kube import faults
from trainshed.kube.objects import Object

Rules = Mapping[str, Sequence[str]]
"""Verbs by resource."""

EVERYTHING = ("get", "list", "watch", "create", "update", "patch", "delete")
TENANT: Rules = {
    "configmaps": EVERYTHING,
    "trainjobs": EVERYTHING,
    "trainingruntimes": EVERYTHING,
    "pods": ("get", "list"),
    "pods/log": ("get",),
}


def without(rules: Rules, resource: str, *verbs: str) -> Rules:
    """The same rules but for some verbs of one resource."""
    return {**rules, resource: [verb for verb in rules[resource] if verb not in verbs]}


async def made(client: Client, namespace: str, rules: Rules = TENANT, name: str = "caller") -> str:
    """The token of a new service account that may do this in its namespace, which is made if missing."""
    await _create(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    meta = {"name": name, "namespace": namespace}
    await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    rbac = "rbac.authorization.k8s.io"
    listed = [
        {"apiGroups": ["", "trainer.kubeflow.org"], "resources": [resource], "verbs": list(verbs)}
        for resource, verbs in rules.items()
    ]
    await client.create({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": listed})
    binding: Object = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    await client.create(binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.create_under("serviceaccounts", name, "token", request, namespace)
    token: str = answer["status"]["token"]
    return token


async def _create(client: Client, obj: Object) -> None:
    try:
        await client.create(obj)
    except faults.AlreadyExists:
        return
