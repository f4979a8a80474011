"""Reads the tables beside this file, once, when the first protobuf body arrives."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from trainshed.kube.protobuf import Field, Message, Messages

KINDS = {
    "v1": (
        "Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolumeClaim Pod ResourceQuota"
        " Secret Service ServiceAccount"
    ),
    "apps/v1": "DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1": "SelfSubjectReview TokenRequest TokenReview",
    "authorization.k8s.io/v1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
    ),
    "autoscaling/v1": "Scale",
    "batch/v1": "CronJob Job",
    "coordination.k8s.io/v1": "Lease",
    "events.k8s.io/v1": "events.Event",
    "networking.k8s.io/v1": "Ingress",
    "policy/v1": "Eviction PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "": "DeleteOptions",  # sent in the version of whatever is deleted
}


@cache
def messages() -> Messages:
    """All tables together."""
    fields: dict[str, Message] = {}
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        fields.update(parse(path.read_text()))
    kinds = {
        (version, name.rpartition(".")[2]): name for version, names in KINDS.items() for name in names.split()
    }
    return Messages(fields, kinds)


def parse(text: str) -> dict[str, Message]:
    """The messages of one table."""
    lines = text.replace("\n  ", " ").splitlines()
    return dict(_message(line) for line in lines)


def _message(line: str) -> tuple[str, Message]:
    name, _, fields = line.partition(": ")
    return name, dict(_field(*field.split()) for field in fields.split(", ") if field)


def _field(number: str, name: str, type: str) -> tuple[int, Field]:
    bare, mark = type.strip("[]{}!?"), type[-1]
    many, mapped = type[0] == "[", type[0] == "{"
    name = "" if name == "." else name
    return int(number), Field(name, bare, many, mapped, keeps_zero=mark in "!?", always=mark == "!")
