"""The volume by which a pod's containers reach the API as its service account.

https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#bound-service-account-token-volume
"""

from __future__ import annotations

from typing import Final

from trainshed.kinds.reading import entries
from trainshed.kube.objects import JSON, Object, dig, text

PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
AUTHORITY: Final = "kube-root-ca.crt"
"""The ConfigMap of every namespace with the certificate to trust."""
PREFIX: Final = "kube-api-access-"
SECONDS: Final = 3607
"""Upstream's number for an hour that nobody has asked for."""


def is_wanted(spec: Object, account: Object | None) -> bool:
    """What the pod says counts more than what its account says; saying nothing means yes."""
    said = dig(spec, "automountServiceAccountToken")
    if said is None:
        said = dig(account, "automountServiceAccountToken")
    return said is not False


def mount(spec: Object, name: str) -> None:
    """Show the volume, called so where it is new, to every container with nothing of its own at the path."""
    wanting = [one for one in _containers(spec) if not _has_own(one)]
    if not wanting:
        return
    there = [one for volume in entries(spec, "volumes") if (one := text(volume, "name")).startswith(PREFIX)]
    if not there:
        spec["volumes"] = [*_items(spec, "volumes"), _volume(name)]
    for container in wanting:
        own = {"name": (*there, name)[0], "readOnly": True, "mountPath": PATH}
        container["volumeMounts"] = [*_items(container, "volumeMounts"), own]


def _containers(spec: Object) -> list[Object]:
    return [one for group in ("initContainers", "containers") for one in entries(spec, group)]


def _has_own(container: Object) -> bool:
    return any(text(one, "mountPath").rstrip("/") == PATH for one in entries(container, "volumeMounts"))


def _items(holder: Object, member: str) -> list[JSON]:
    found = holder.get(member)
    return found if isinstance(found, list) else []


def _volume(name: str) -> Object:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": SECONDS, "path": "token"}},
        {"configMap": {"name": AUTHORITY, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}
