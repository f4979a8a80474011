"""Roles and bindings every server starts with, and how an existing one is brought up to date.

As upstream: what is missing is added, what an administrator added stays, and an object annotated with
`rbac.authorization.kubernetes.io/autoupdate: "false"` is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainshed.apiserver.access import bootstrap_roles as standard
from trainshed.apiserver.access import rules
from trainshed.apiserver.access.identity import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, UNAUTHENTICATED
from trainshed.apiserver.access.rules import FULL_AUTHORITY, Rule
from trainshed.kube.objects import Object, copied, dig

GROUP = "rbac.authorization.k8s.io"
LABEL = "kubernetes.io/bootstrapping"
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"

_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_KUBEFLOW = "rbac.authorization.kubeflow.org/aggregate-to-"


def wanted() -> list[Object]:
    """ClusterRoles first, then their bindings."""
    return [*_cluster_roles(), *_bindings()]


def reconciled(existing: Object | None, standard_object: Object) -> Object | None:
    """What to store so that the object is up to date, or None when it is (or is protected)."""
    fresh: Object = copied(standard_object)
    if existing is None:
        return fresh
    if dig(existing, "metadata", "annotations", AUTO_UPDATE) == "false":
        return None
    if dig(existing, "roleRef") != dig(standard_object, "roleRef"):
        return fresh  # a binding to another role is replaced as a whole
    merged: Object = copied(existing)
    _merge_metadata(merged, standard_object)
    if "subjects" in standard_object:
        _add_missing(merged, "subjects", standard_object["subjects"])
    else:
        _merge_rules(merged, standard_object)
    return None if merged == existing else merged


def _merge_metadata(merged: Object, standard_object: Object) -> None:
    for key in ("labels", "annotations"):
        given = dig(merged, "metadata", key)
        ours = dig(standard_object, "metadata", key)
        merged["metadata"][key] = {**ours, **given} if isinstance(given, dict) else dict(ours)


def _merge_rules(merged: Object, standard_object: Object) -> None:
    if "aggregationRule" in standard_object:
        aggregation = merged.setdefault("aggregationRule", {})
        _add_missing(
            aggregation, "clusterRoleSelectors", standard_object["aggregationRule"]["clusterRoleSelectors"]
        )
        return
    merged.pop("aggregationRule", None)
    missing = rules.uncovered(rules.read(merged.get("rules")), rules.read(standard_object["rules"]))
    if missing:
        merged["rules"] = [*(merged.get("rules") or []), *(rule.body() for rule in rules.compact(missing))]


def _add_missing(target: Object, key: str, items: Sequence[Object]) -> None:
    present = target.get(key) or []
    missing = [copied(item) for item in items if item not in present]
    if missing:
        target[key] = [*present, *missing]


# --- what is wanted ---------------------------------------------------------------------------------------


def _cluster_roles() -> Iterator[Object]:
    yield _role("cluster-admin", FULL_AUTHORITY)
    yield _role("system:discovery", (standard.at(*standard.DISCOVERY),))
    yield _role(
        "system:monitoring", (standard.at(*standard.MONITORING), standard.on("", ("get",), "nodes/metrics"))
    )
    yield _role("system:public-info-viewer", (standard.at(*standard.PUBLIC),))
    yield _role("system:service-account-issuer-discovery", (standard.at(*standard.ISSUER),))
    yield _role("system:basic-user", standard.BASIC_USER)
    yield _role("system:auth-delegator", standard.DELEGATOR)
    yield _role("system:node", standard.NODE)
    yield _role("system:kube-scheduler", standard.SCHEDULER)
    yield _aggregated("admin")
    yield _aggregated("edit", into="admin")
    yield _aggregated("view", into="edit")
    yield _role("system:aggregate-to-admin", standard.ADMIN, {f"{_AGGREGATE}admin": "true"})
    yield _role("system:aggregate-to-edit", standard.EDIT, {f"{_AGGREGATE}edit": "true"})
    yield _role("system:aggregate-to-view", standard.VIEW, {f"{_AGGREGATE}view": "true"})
    yield from _training_roles()


def _training_roles() -> Iterator[Object]:
    """Kubeflow's own role names and labels, so that its platform roles aggregate them, and the standard
    labels besides: whoever may edit a namespace may train in it."""
    for family in standard.TRAINING:
        inner = f"{_KUBEFLOW}kubeflow-{family}-admin"
        admin = _role(f"kubeflow-{family}-admin", (), {f"{_KUBEFLOW}kubeflow-admin": "true"})
        admin["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {inner: "true"}}]}
        yield admin
        edits = (f"{_KUBEFLOW}kubeflow-edit", inner, f"{_AGGREGATE}edit")
        yield _role(f"kubeflow-{family}-edit", standard.training_edit(family), dict.fromkeys(edits, "true"))
        views = (f"{_KUBEFLOW}kubeflow-view", f"{_AGGREGATE}view")
        yield _role(f"kubeflow-{family}-view", standard.training_view(family), dict.fromkeys(views, "true"))
    yield _role("kubeflow-trainer-view-cluster-runtimes", standard.RUNTIMES)


def _bindings() -> Iterator[Object]:
    yield _binding("cluster-admin", MASTERS)
    yield _binding("system:monitoring", "system:monitoring")
    yield _binding("system:discovery", AUTHENTICATED)
    yield _binding("system:basic-user", AUTHENTICATED)
    yield _binding("system:public-info-viewer", AUTHENTICATED, UNAUTHENTICATED)
    yield _binding("system:service-account-issuer-discovery", SERVICE_ACCOUNTS)
    # Upstream leaves this one without subjects because its node authorizer is narrower; we have none.
    yield _binding("system:node", "system:nodes")
    yield _binding("kubeflow-trainer-view-cluster-runtimes", AUTHENTICATED)
    scheduler = _binding("system:kube-scheduler")
    scheduler["subjects"] = [{"kind": "User", "apiGroup": GROUP, "name": "system:kube-scheduler"}]
    yield scheduler


def _metadata(name: str, labels: dict[str, str] | None = None) -> Object:
    return {
        "name": name,
        "labels": {LABEL: "rbac-defaults", **(labels or {})},
        "annotations": {AUTO_UPDATE: "true"},
    }


def _role(name: str, granted: Sequence[Rule], labels: dict[str, str] | None = None) -> Object:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": _metadata(name, labels),
        "rules": [rule.body() for rule in granted],
    }


def _aggregated(name: str, into: str = "") -> Object:
    role = _role(name, (), {f"{_AGGREGATE}{into}": "true"} if into else None)
    selector = {"matchLabels": {f"{_AGGREGATE}{name}": "true"}}
    return {**role, "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _binding(role: str, *groups: str) -> Object:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(role),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups],
    }
