"""Roles and ClusterRoles: lists of rules that allow verbs on resources or paths."""

from __future__ import annotations

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import entries, sequence
from trainshed.kube import names
from trainshed.kube.faults import invalid, required
from trainshed.kube.objects import Object


def role_errors(role: Object, old: Object | None) -> Errors:
    return _rules(role, namespaced=True)


def cluster_role_errors(role: Object, old: Object | None) -> Errors:
    found = _rules(role, namespaced=False)
    if not isinstance(role.get("aggregationRule"), dict):
        return found
    field = "aggregationRule.clusterRoleSelectors"
    selectors = entries(role, "aggregationRule", "clusterRoleSelectors")
    if not selectors:
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        found.append(required(field, why))
    for index, selector in enumerate(selectors):
        found += checks.label_selector(f"{field}[{index}]", selector)
    return found


def _rules(role: Object, *, namespaced: bool) -> Errors:
    found: Errors = []
    for index, rule in enumerate(entries(role, "rules")):
        found += rule_errors(f"rules[{index}]", rule, namespaced=namespaced)
    return found


def rule_errors(field: str, rule: Object, *, namespaced: bool) -> Errors:
    verbs, urls = sequence(rule, "verbs"), sequence(rule, "nonResourceURLs")
    found = [] if verbs else [required(f"{field}.verbs", "verbs must contain at least one value")]
    if urls:
        return found + _url_errors(f"{field}.nonResourceURLs", rule, namespaced=namespaced)
    if not sequence(rule, "apiGroups"):
        found.append(required(f"{field}.apiGroups", "resource rules must supply at least one api group"))
    if not sequence(rule, "resources"):
        found.append(required(f"{field}.resources", "resource rules must supply at least one resource"))
    return found


def _url_errors(field: str, rule: Object, *, namespaced: bool) -> Errors:
    urls, found = sequence(rule, "nonResourceURLs"), []
    if namespaced:
        found.append(invalid(field, urls, "namespaced rules cannot apply to non-resource URLs"))
    if any(sequence(rule, name) for name in ("apiGroups", "resources", "resourceNames")):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        found.append(invalid(field, urls, why))
    return found


RULES = Rules(
    defaults=lambda role: tidy(role, "Role"), validate=role_errors, check_name=names.path_segment,
    has_generation=False,
)  # fmt: skip
CLUSTER_RULES = Rules(
    defaults=lambda role: tidy(role, "ClusterRole"), validate=cluster_role_errors,
    check_name=names.path_segment, has_generation=False,
)  # fmt: skip
