"""The objects of one tenant; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trainshed.backend.tenancy import roles
from trainshed.kube import quantities
from trainshed.kube.objects import Object, dig, text, without

TENANT: Final = "trainshed.dev/tenant"
"""The label by which a namespace is known to be a tenant's."""
DESCRIPTION: Final = "trainshed.dev/description"
PENDING: Final = "trainshed.dev/sign-up"
"""The annotation of a namespace whose sign-up has not come to its end; says which one is at it."""
MANAGED: Final = "app.kubernetes.io/managed-by"
SECURITY: Final = "pod-security.kubernetes.io/enforce"
QUOTA, LIMITS, SYSTEM_QUOTA = "tenant", "tenant", "tenant-system-priority"
_OURS: Final = {MANAGED: "trainshed"}

JOBS: Final = "count/trainjobs.trainer.kubeflow.org"
GPUS: Final = "requests.nvidia.com/gpu"
FIELDS: Final = {
    "cpu": "requests.cpu",
    "memory": "requests.memory",
    "gpus": GPUS,
    "pods": "pods",
    "jobs": JOBS,
    "storage": "requests.storage",
    "volumes": "persistentvolumeclaims",
}
"""How the quota's fields are called in a ResourceQuota."""
USUAL: Final = {
    "cpu": "32",
    "memory": "128Gi",
    "gpus": "8",
    "pods": "200",
    "jobs": "500",
    "storage": "500Gi",
    "volumes": "50",
}
_ALWAYS: Final = {"services.nodeports": "0", "services.loadbalancers": "0"}
"""What no tenant needs; a quota may say otherwise."""
_BY_JOBS: Final = {
    "count/configmaps": ((4, 50), (2, 50)),
    "count/trainingruntimes.trainer.kubeflow.org": ((1, 50),),
    "count/secrets": ((1, 100), (0, 100)),
}
"""What a tenant could fill the server with: how many for each job, and how many besides.

What earlier versions counted comes behind that: a quota that has it was not chosen by anybody.

A job has a ConfigMap with its code, one more if it came with a key against repetition, and a runtime of its
own where it asks for what a TrainJob cannot say. The controller adds a snapshot of the runtime and, for MPI,
a list of hosts and a Secret with keys.
"""

Amounts = Mapping[str, str]
Changes = Mapping[str, str | None]
"""None takes an amount away."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """What a sign-up asks for."""

    name: str
    """Also the name of the namespace."""
    description: str = ""
    quota: Amounts = field(default_factory=dict)
    """By the names of a ResourceQuota."""
    requests: Amounts = field(default_factory=dict)
    """What containers get that do not say what they need."""
    most: Amounts = field(default_factory=dict)
    """What a container may have at most."""


def hard(given: Amounts, other: Amounts) -> dict[str, str]:
    """A whole quota: what is given, and the usual for the rest."""
    said = {FIELDS[name]: amount for name, amount in {**USUAL, **given}.items()}
    return {**said, **_ALWAYS, **_by_jobs(other.get(JOBS, said[JOBS])), **other}


def _by_jobs(jobs: str) -> dict[str, str]:
    return {name: counts[0] for name, counts in _ever_by_jobs(jobs).items()}


def _ever_by_jobs(jobs: str) -> dict[str, list[str]]:
    """Today's count and those of earlier versions."""
    many = int(quantities.parse(jobs))
    return {
        name: [quantities.canonical(each * many + more) for each, more in rules]
        for name, rules in _BY_JOBS.items()
    }


def followed(before: Amounts, change: Changes) -> dict[str, str | None]:
    """A change, with the counts that go by the number of jobs as long as nobody chose them."""
    old, new = before.get(JOBS), change.get(JOBS)
    if old is None or new is None:
        return dict(change)
    usual = _ever_by_jobs(old)
    followers = {name: amount for name, amount in _by_jobs(new).items() if before.get(name) in usual[name]}
    return {**followers, **change}


def is_same(present: Amounts, wanted: Amounts) -> bool:
    """Whether a quota is the wanted one; counts that nobody asks for were others in earlier versions."""
    unasked = [name for name, amount in _by_jobs(wanted[JOBS]).items() if wanted[name] == amount]
    return without(dict(present), unasked) == without(dict(wanted), unasked)


def is_same_limits(present: Object, tenant: Tenant) -> bool:
    """Whether a LimitRange is the wanted one, whatever else Kubernetes or somebody has added to it."""
    item = _item(present)
    return all(
        _canonical(item.get(part)) == dict(wanted)
        for part, wanted in (("defaultRequest", tenant.requests), ("max", tenant.most))
    )


def changed_limits(present: Object, requests: Changes, most: Changes) -> Object:
    """A patch of a LimitRange: amounts that are named change (None: no longer bounded), the rest stays."""
    item, others = _item(present), (dig(present, "spec", "limits") or [])[1:]
    before = item.get("max") or {}
    # Limits that Kubernetes took from the old bounds would contradict the new ones.
    own = {name: amount for name, amount in (item.get("default") or {}).items() if amount != before.get(name)}
    item["defaultRequest"] = _laid_over(item.get("defaultRequest") or {}, requests)
    item |= {"max": _laid_over(before, most), "default": own}
    changed = {name: part for name, part in item.items() if part}
    revision = text(present, "metadata", "resourceVersion")
    return {"metadata": {"resourceVersion": revision}, "spec": {"limits": [changed, *others]}}


def _laid_over(before: Amounts, changes: Changes) -> dict[str, str]:
    return {name: amount for name, amount in {**before, **changes}.items() if amount is not None}


def _item(limit_range: Object) -> Object:
    item: Object = next(iter(dig(limit_range, "spec", "limits") or ()), {})
    return {"type": "Container", **item}


def _canonical(amounts: Amounts | None) -> dict[str, str]:
    return {name: quantities.canonical(amount) for name, amount in (amounts or {}).items()}


def namespace(tenant: Tenant, mark: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": tenant.name, **claim(tenant, mark)},
    }


def claim(tenant: Tenant, mark: str) -> Object:
    """The metadata by which a namespace becomes a tenant's; `baseline` keeps pods off their host."""
    labels = {**_OURS, TENANT: tenant.name, SECURITY: "baseline"}
    notes = {PENDING: mark, DESCRIPTION: tenant.description}
    return {"labels": labels, "annotations": {key: note for key, note in notes.items() if note}}


def inside(tenant: Tenant) -> list[Object]:
    """What comes into the namespace, bounds first: whoever has rights already has limits."""
    return [quota(tenant), system_quota(), limit_range(tenant), account(), _binding()]


def quota(tenant: Tenant) -> Object:
    return _quota(QUOTA, {"hard": dict(tenant.quota)})


def system_quota() -> Object:
    """No tenant's pod is more important than the cluster itself."""
    classes = ["system-cluster-critical", "system-node-critical"]
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": classes}
    return _quota(SYSTEM_QUOTA, {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}})


def _quota(name: str, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": _meta(name), "spec": spec}


def limit_range(tenant: Tenant) -> Object:
    item: Object = {"type": "Container", "defaultRequest": dict(tenant.requests)}
    if tenant.most:
        item["max"] = dict(tenant.most)
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": _meta(LIMITS),
        "spec": {"limits": [item]},
    }


def account() -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _meta(roles.ACCOUNT)}


def _binding() -> Object:
    """The subject's namespace is that of the binding: see `bound`."""
    return _bound("RoleBinding", roles.NAMESPACED, roles.NAMESPACED)


def shared_binding(tenant: str) -> Object:
    """A tenant's right to read the runtimes everybody shares."""
    return _bound("ClusterRoleBinding", shared_binding_name(tenant), roles.CLUSTER_WIDE, tenant)


def shared_binding_name(tenant: str) -> str:
    return f"trainshed-tenant-{tenant}"


def _bound(kind: str, name: str, role: str, namespace: str = "") -> Object:
    subject = {"kind": "ServiceAccount", "name": roles.ACCOUNT, "namespace": namespace}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": _meta(name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


def placed(obj: Object, namespace: str) -> Object:
    """An object in a namespace; so are the accounts it names."""
    found: Object = {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
    if "subjects" in found:
        found["subjects"] = [{**subject, "namespace": namespace} for subject in found["subjects"]]
    return found


def _meta(name: str) -> Object:
    return {"name": name, "labels": dict(_OURS)}


# --- what a namespace is ------------------------------------------------------------------------------------


def is_tenant(namespace: Object) -> bool:
    """Whether a namespace is a tenant's; one that only looks like it is not."""
    name = text(namespace, "metadata", "name")
    return bool(name) and text(namespace, "metadata", "labels", TENANT) == name


def may_become_tenant(namespace: Object) -> bool:
    """A namespace this service made for somebody's first job may; others belong to somebody else."""
    return text(namespace, "metadata", "labels", MANAGED) == "trainshed"


def mark_of(namespace: Object) -> str:
    return text(namespace, "metadata", "annotations", PENDING)


def description_of(namespace: Object) -> str:
    return text(namespace, "metadata", "annotations", DESCRIPTION)
