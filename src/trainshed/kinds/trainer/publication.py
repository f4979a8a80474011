"""How an installation tells every user which Trainer it is compatible with: a ConfigMap all may read."""

from __future__ import annotations

from trainshed.kube.objects import Object

NAME, NAMESPACE = "kubeflow-trainer-public", "kubeflow-system"
LABEL = "trainshed.dev/shipped"
"""What of these objects is ours; the rest belongs to whoever installs their Trainer."""
COMPATIBLE_WITH = "v2.3.0"
_RBAC = "rbac.authorization.k8s.io"


def objects() -> dict[str, Object]:
    """By resource: the ConfigMap, and the role and binding that let authenticated users read it."""
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": {LABEL: "true"}}
    readable = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [NAME],
        "verbs": ["get", "list", "watch"],
    }
    everyone = {"kind": "Group", "apiGroup": _RBAC, "name": "system:authenticated"}
    return {
        "configmaps": {"metadata": {**metadata}, "data": {"kubeflow_trainer_version": COMPATIBLE_WITH}},
        f"roles.{_RBAC}": {"metadata": {**metadata}, "rules": [readable]},
        f"rolebindings.{_RBAC}": {
            "metadata": {**metadata},
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": NAME},
            "subjects": [everyone],
        },
    }
