"""The RBAC authorizer: from bindings and roles to a yes or no, remembered until one of them changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from trainshed.apiserver.access import aggregation, rules
from trainshed.apiserver.access.identity import MASTERS, Attributes, Decision, Identity, service_account
from trainshed.apiserver.access.lookup import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    Lookup,
)
from trainshed.apiserver.access.rules import Rule
from trainshed.kube.faults import NotFound, shown
from trainshed.kube.objects import JSON, Object, text

CLUSTER_KINDS = (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
NAMESPACED_KINDS = (ROLES, ROLE_BINDINGS)

_ALLOWED = Decision(True)
_REMEMBERED = 20_000
"""Verdicts kept; one is a few hundred bytes, and a busy multi-tenant server has a few thousand."""


class Grant(NamedTuple):
    """What one binding gives one of its subjects: rules, or the reason why there are none."""

    binding: str
    source: str
    rules: tuple[Rule, ...]
    error: str = ""


class _Verdict(NamedTuple):
    """The decision for every object name at once: a few named ones, and all others."""

    named: Mapping[str, Decision]
    otherwise: Decision


Grants = dict[str, list[Grant]]
"""By subject: `u:NAME` for users (service accounts by their user name), `g:NAME` for groups."""


class Authorizer:
    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._cluster_revision = self._namespaced_revision = -1
        self._cluster_rules: dict[str, tuple[Rule, ...]] = {}
        self._cluster_grants: Grants = {}
        self._namespace_grants: dict[str, Grants] = {}
        self._verdicts: dict[tuple[str | tuple[str, ...], ...], _Verdict] = {}

    def decide(self, wanted: Attributes) -> Decision:
        user = wanted.user
        if MASTERS in user.groups:
            return _ALLOWED
        self._refresh()
        key = (user.username, user.groups, wanted.verb, wanted.group, wanted.resource, wanted.subresource,
               wanted.namespace, wanted.path)  # fmt: skip
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._remember(key, self._judge(wanted))
        return verdict.named.get(wanted.name, verdict.otherwise) if verdict.named else verdict.otherwise

    def rules_for(self, user: Identity, namespace: str) -> tuple[list[Rule], list[str]]:
        """All rules that apply to somebody in a namespace ("" for the cluster), and what is unresolved."""
        self._refresh()
        grants = list(self._grants_of(user, namespace))
        errors = [grant.error for grant in grants if grant.error]
        found = [rule for grant in grants for rule in grant.rules]
        always = rules.FULL_AUTHORITY if MASTERS in user.groups else ()
        return [*(rule for rule in always if rule not in found), *found], errors

    def rules_of(self, role: JSON, namespace: str) -> tuple[Rule, ...]:
        """The rules a roleRef stands for; raises `NotFound` when there is no such role."""
        self._refresh()
        kind, name = text(role, "kind"), text(role, "name")
        found = self._resolve(kind, name, namespace)
        if found is None:
            plural = "roles" if kind == "Role" else "clusterroles"
            group = "rbac.authorization.k8s.io"
            raise NotFound(f"{plural}.{group} {shown(name)} not found", name=name, group=group, kind=plural)
        return found

    def _refresh(self) -> None:
        cluster = self._lookup.revision_of(CLUSTER_KINDS)
        namespaced = self._lookup.revision_of(NAMESPACED_KINDS)
        if cluster == self._cluster_revision and namespaced == self._namespaced_revision:
            return
        self._verdicts.clear()
        self._namespace_grants.clear()
        if cluster != self._cluster_revision:
            roles = {_name(role): role for role in self._lookup.list(CLUSTER_ROLES, None)}
            self._cluster_rules = aggregation.effective(roles)
            self._cluster_grants = self._compile(self._lookup.list(CLUSTER_ROLE_BINDINGS, None), "")
        self._cluster_revision, self._namespaced_revision = cluster, namespaced

    def _remember(self, key: tuple[str | tuple[str, ...], ...], verdict: _Verdict) -> _Verdict:
        if len(self._verdicts) >= _REMEMBERED:
            self._verdicts.clear()
        self._verdicts[key] = verdict
        return verdict

    def _judge(self, wanted: Attributes) -> _Verdict:
        named: dict[str, Decision] = {}
        errors: list[str] = []
        for grant in self._grants_of(wanted.user, wanted.namespace):
            if grant.error:
                errors.append(grant.error)
            for rule in grant.rules:
                if not rules.allows(rule, wanted):
                    continue
                decision = Decision(True, f"RBAC: allowed by {grant.source}")
                if not rule.names or wanted.path:
                    return _Verdict(named, decision)
                for name in rule.names:
                    named.setdefault(name, decision)
        return _Verdict(named, Decision(False, _unresolved(errors)))

    def _grants_of(self, user: Identity, namespace: str) -> Iterator[Grant]:
        subjects = (f"u:{user.username}", *(f"g:{group}" for group in user.groups))
        tables = [self._cluster_grants]
        if namespace:
            tables.append(self._grants_in(namespace))
        seen: set[str] = set()
        for table in tables:
            for subject in subjects:
                for grant in table.get(subject, ()):
                    # A binding that names both the user and one of its groups counts once.
                    if grant.binding not in seen:
                        seen.add(grant.binding)
                        yield grant

    def _grants_in(self, namespace: str) -> Grants:
        found = self._namespace_grants.get(namespace)
        if found is None:
            found = self._compile(self._lookup.list(ROLE_BINDINGS, namespace), namespace)
            self._namespace_grants[namespace] = found
        return found

    def _compile(self, bindings: Iterable[Object], namespace: str) -> Grants:
        table: Grants = {}
        for binding in bindings:
            kind, role = text(binding, "roleRef", "kind"), text(binding, "roleRef", "name")
            found = self._resolve(kind, role, namespace)
            error = "" if found is not None else _missing(kind, role)
            name = _described(binding, namespace)
            subjects = binding.get("subjects")
            for subject in subjects if isinstance(subjects, list) else ():
                if key := _subject_key(subject, namespace):
                    source = f'{name} of {kind} "{role}" to {_described_subject(subject, namespace)}'
                    table.setdefault(key, []).append(Grant(name, source, found or (), error))
        return table

    def _resolve(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        if kind == "ClusterRole":
            return self._cluster_rules.get(name)
        role = self._lookup.get(ROLES, namespace, name) if kind == "Role" and namespace else None
        return None if role is None else rules.read(role.get("rules"))


def _subject_key(subject: JSON, namespace: str) -> str:
    kind, name = text(subject, "kind"), text(subject, "name")
    if kind == "User":
        return f"u:{name}"
    if kind == "Group":
        return f"g:{name}"
    home = text(subject, "namespace") or namespace
    return f"u:{service_account(home, name)}" if kind == "ServiceAccount" and home else ""


def _described(binding: Object, namespace: str) -> str:
    if namespace:
        return f'RoleBinding "{_name(binding)}/{namespace}"'
    return f'ClusterRoleBinding "{_name(binding)}"'


def _described_subject(subject: Object, namespace: str) -> str:
    kind, name = text(subject, "kind"), text(subject, "name")
    if kind == "ServiceAccount":
        name = f"{name}/{text(subject, 'namespace') or namespace}"
    return f'{kind} "{name}"'


def _missing(kind: str, name: str) -> str:
    if kind not in ("Role", "ClusterRole"):
        return f"unsupported role reference kind: {shown(kind)}"
    return f"{kind.lower()}.rbac.authorization.k8s.io {shown(name)} not found"


def _unresolved(errors: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(errors))
    if not distinct:
        return ""
    return "RBAC: " + (distinct[0] if len(distinct) == 1 else "[" + ", ".join(distinct) + "]")


def _name(obj: Object) -> str:
    return text(obj, "metadata", "name")
