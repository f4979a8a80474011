"""Printers of nodes, namespaces, configuration, accounts, quotas and the small cluster kinds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trainshed.kinds.printing.printer import (
    AGE,
    NAME,
    NONE,
    Printer,
    age,
    column,
    entries,
    flag,
    is_true,
    name_of,
    number,
    size,
    wide,
)
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import JSON, Object, dig, text

_ROLE_PREFIX = "node-role.kubernetes.io/"


def _node(obj: Object, now: datetime) -> Sequence[JSON]:
    info = mapping(obj, "status", "nodeInfo")
    return (
        name_of(obj),
        _node_status(obj),
        ",".join(_node_roles(mapping(obj, "metadata", "labels"))) or NONE,
        age(obj, now),
        text(info, "kubeletVersion"),
        _node_address(obj, "InternalIP"),
        _node_address(obj, "ExternalIP"),
        *(
            text(info, part) or "<unknown>"
            for part in ("osImage", "kernelVersion", "containerRuntimeVersion")
        ),
    )


def _node_status(obj: Object) -> str:
    conditions = list(entries(obj, "status", "conditions"))
    # The last condition of a type counts here, unlike everywhere else.
    if any(condition.get("type") == "Ready" for condition in conditions):
        status = "Ready" if is_true(reversed(conditions), "Ready") else "NotReady"
    else:
        status = "Unknown"
    return f"{status},SchedulingDisabled" if flag(obj, "spec", "unschedulable") else status


def _node_roles(labels: Object) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(text(labels, "kubernetes.io/role"))
    return sorted(roles - {""})


def _node_address(obj: Object, type: str) -> str:
    found = (
        text(item, "address") for item in entries(obj, "status", "addresses") if item.get("type") == type
    )
    return next(found, NONE)


def _namespace(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), text(obj, "status", "phase"), age(obj, now)


def _config_map(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), size(obj, "data") + size(obj, "binaryData"), age(obj, now)


def _secret(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), text(obj, "type"), size(obj, "data"), age(obj, now)


def _service_account(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), size(obj, "secrets"), age(obj, now)


def _resource_quota(obj: Object, now: datetime) -> Sequence[JSON]:
    requests: list[str] = []
    limits: list[str] = []
    used = mapping(obj, "status", "used")
    for resource, hard in sorted(mapping(obj, "status", "hard").items()):
        side = limits if resource.startswith("limits.") else requests
        side.append(f"{resource}: {used.get(resource, '0')}/{hard}")
    return name_of(obj), age(obj, now), ", ".join(requests), ", ".join(limits)


def _lease(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), text(obj, "spec", "holderIdentity"), age(obj, now)


def _priority_class(obj: Object, now: datetime) -> Sequence[JSON]:
    return (
        name_of(obj),
        number(obj, "value"),
        flag(obj, "globalDefault"),
        age(obj, now),
        text(obj, "preemptionPolicy"),
    )


def _runtime_class(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), text(obj, "handler"), age(obj, now)


def _webhooks(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), size(obj, "webhooks"), age(obj, now)


def _binding(obj: Object, now: datetime) -> Sequence[JSON]:
    subjects = list(entries(obj, "subjects"))
    by_kind = {
        kind: ", ".join(text(item, "name") for item in subjects if item.get("kind") == kind)
        for kind in ("User", "Group")
    }
    accounts = [item for item in subjects if item.get("kind") == "ServiceAccount"]
    return (
        name_of(obj),
        f"{text(obj, 'roleRef', 'kind')}/{text(obj, 'roleRef', 'name')}",
        age(obj, now),
        by_kind["User"],
        by_kind["Group"],
        ", ".join(f"{text(item, 'namespace')}/{text(item, 'name')}" for item in accounts),
    )


def _created_at(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), dig(obj, "metadata", "creationTimestamp")


DEFAULT = Printer((NAME, column("Created At", "When the object was created.", "date")), _created_at)
_BINDING = Printer(
    (
        NAME,
        column("Role", "Role that is granted."),
        AGE,
        wide("Users", "Users it is granted to."),
        wide("Groups", "Groups it is granted to."),
        wide("ServiceAccounts", "Service accounts it is granted to."),
    ),
    _binding,
)
_WEBHOOKS = Printer((NAME, column("Webhooks", "Number of webhooks.", "integer"), AGE), _webhooks)
PRINTERS = {
    "nodes": Printer(
        (
            NAME,
            column("Status", "Whether the node is ready and takes new pods."),
            column("Roles", "Roles of the node, from its labels."),
            AGE,
            column("Version", "Version of the node agent."),
            wide("Internal-IP", "First internal address."),
            wide("External-IP", "First external address."),
            wide("OS-Image", "Operating system."),
            wide("Kernel-Version", "Kernel."),
            wide("Container-Runtime", "What runs the containers."),
        ),
        _node,
    ),
    "namespaces": Printer((NAME, column("Status", "Phase of the namespace."), AGE), _namespace),
    "configmaps": Printer((NAME, column("Data", "Number of entries."), AGE), _config_map),
    "secrets": Printer(
        (NAME, column("Type", "What the secret is for."), column("Data", "Number of entries."), AGE), _secret
    ),
    "serviceaccounts": Printer((NAME, column("Secrets", "Number of secrets."), AGE), _service_account),
    "resourcequotas": Printer(
        (
            NAME,
            AGE,
            column("Request", "Use and bound of requested resources and counts."),
            column("Limit", "Use and bound of resource limits."),
        ),
        _resource_quota,
    ),
    "limitranges": DEFAULT,
    "leases.coordination.k8s.io": Printer((NAME, column("Holder", "Who holds the lease."), AGE), _lease),
    "priorityclasses.scheduling.k8s.io": Printer(
        (
            NAME,
            column("Value", "Priority; higher ones go first.", "integer"),
            column("Global-Default", "Whether pods without a class get this one.", "boolean"),
            AGE,
            column("PreemptionPolicy", "Whether running pods may be displaced."),
        ),
        _priority_class,
    ),
    "runtimeclasses.node.k8s.io": Printer(
        (NAME, column("Handler", "Runtime that is used."), AGE), _runtime_class
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "roles.rbac.authorization.k8s.io": DEFAULT,
    "clusterroles.rbac.authorization.k8s.io": DEFAULT,
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "customresourcedefinitions.apiextensions.k8s.io": DEFAULT,
}
