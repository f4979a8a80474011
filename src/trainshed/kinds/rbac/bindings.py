"""RoleBindings and ClusterRoleBindings: who holds a role."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, entries, fill, mapping
from trainshed.kube import names
from trainshed.kube.faults import invalid, required, unsupported
from trainshed.kube.objects import Object, text

GROUP: Final = "rbac.authorization.k8s.io"


def defaults(binding: Object) -> None:
    tidy(binding, "RoleBinding")  # cluster role bindings have the same members
    fill(child(binding, "roleRef"), apiGroup=GROUP)
    for subject in entries(binding, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            fill(subject, apiGroup=GROUP)


def role_errors(binding: Object, old: Object | None) -> Errors:
    return _errors(binding, old, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_errors(binding: Object, old: Object | None) -> Errors:
    return _errors(binding, old, ("ClusterRole",), namespaced=False)


def _errors(binding: Object, old: Object | None, kinds: tuple[str, ...], *, namespaced: bool) -> Errors:
    role = mapping(binding, "roleRef")
    found: Errors = []
    if text(role, "apiGroup") != GROUP:
        found.append(unsupported("roleRef.apiGroup", text(role, "apiGroup"), (GROUP,)))
    if text(role, "kind") not in kinds:
        found.append(unsupported("roleRef.kind", text(role, "kind"), kinds))
    found += checks.named("roleRef.name", role.get("name"), names.path_segment)
    for index, subject in enumerate(entries(binding, "subjects")):
        found += _subject(f"subjects[{index}]", subject, namespaced=namespaced)
    if old is not None and not checks.same(role, mapping(old, "roleRef")):
        found.append(invalid("roleRef", role, "cannot change roleRef"))
    return found


def _subject(field: str, subject: Object, *, namespaced: bool) -> Errors:
    name, group = text(subject, "name"), text(subject, "apiGroup")
    found = [] if name else [required(f"{field}.name")]
    match text(subject, "kind"):
        case "ServiceAccount":
            found += checks.named(f"{field}.name", name, names.dns_subdomain, optional=True)
            if group:
                found.append(unsupported(f"{field}.apiGroup", group, ("",)))
            if not namespaced and not text(subject, "namespace"):
                found.append(required(f"{field}.namespace"))
        case "User" | "Group":
            if group != GROUP:
                found.append(unsupported(f"{field}.apiGroup", group, (GROUP,)))
        case other:
            found.append(unsupported(f"{field}.kind", other, ("ServiceAccount", "User", "Group")))
    return found


RULES = Rules(defaults=defaults, validate=role_errors, check_name=names.path_segment, has_generation=False)
CLUSTER_RULES = Rules(
    defaults=defaults, validate=cluster_role_errors, check_name=names.path_segment, has_generation=False
)
