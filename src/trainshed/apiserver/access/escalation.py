"""Nobody may give away rights they do not hold: the check made when roles and bindings are written."""

from __future__ import annotations

from collections.abc import Sequence

from trainshed.apiserver.access import rules
from trainshed.apiserver.access.aggregation import is_aggregated
from trainshed.apiserver.access.identity import MASTERS, Attributes, Identity, forbidden_object
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.access.rules import Rule
from trainshed.kube.faults import Forbidden, shown
from trainshed.kube.objects import Object, text, without

GROUP = "rbac.authorization.k8s.io"
ROLE_PLURALS = frozenset(("roles", "clusterroles"))
BINDING_PLURALS = frozenset(("rolebindings", "clusterrolebindings"))

_MOST_COMBINATIONS = 100_000
"""They are checked one by one; beyond this the product of three long lists could stall the server."""


def check(
    authorizer: Authorizer, user: Identity, plural: str, new: Object, old: Object | None = None
) -> None:
    """Raises `Forbidden` unless the user may write this role or binding (any other kind passes).

    `new` must carry its namespace. `old` is None on create.
    """
    if MASTERS in user.groups or (old is not None and _same_but_for_garbage_fields(new, old)):
        return
    if plural in ROLE_PLURALS:
        _check_role(authorizer, user, plural, new, old)
    elif plural in BINDING_PLURALS:
        _check_binding(authorizer, user, plural, new)


def _check_role(authorizer: Authorizer, user: Identity, plural: str, new: Object, old: Object | None) -> None:
    name, namespace = _names(new)
    if authorizer.decide(Attributes(user, "escalate", GROUP, "*", plural, "", namespace, name)).allowed:
        return
    _confirm(authorizer, user, namespace, rules.read(new.get("rules")), (plural, name))
    if is_aggregated(new) or (old is not None and is_aggregated(old)):
        try:
            _confirm(authorizer, user, namespace, rules.FULL_AUTHORITY, (plural, name))
        except Forbidden:
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden_object(GROUP, plural, name, why) from None


def _check_binding(authorizer: Authorizer, user: Identity, plural: str, new: Object) -> None:
    name, namespace = _names(new)
    role = new.get("roleRef")
    roles = {"Role": "roles", "ClusterRole": "clusterroles"}.get(text(role, "kind"), "")
    bind = Attributes(user, "bind", text(role, "apiGroup"), "*", roles, "", namespace, text(role, "name"))
    if roles and authorizer.decide(bind).allowed:
        return
    _confirm(authorizer, user, namespace, authorizer.rules_of(role, namespace), (plural, name))


def _confirm(
    authorizer: Authorizer, user: Identity, namespace: str, asked: Sequence[Rule], target: tuple[str, str]
) -> None:
    plural, name = target
    if rules.combinations(asked) > _MOST_COMBINATIONS:
        raise forbidden_object(GROUP, plural, name, "the rules have too many combinations to be checked")
    owned, errors = authorizer.rules_for(user, namespace)
    missing = rules.uncovered(owned, asked)
    if missing:
        raise forbidden_object(GROUP, plural, name, _explained(user, missing, errors))


def _explained(user: Identity, missing: Sequence[Rule], errors: Sequence[str]) -> str:
    lines = sorted({rules.printed(rule) for rule in rules.compact(missing)})
    who = f"user {shown(user.username)} (groups={rules.printed_list(user.groups)})"
    message = f"{who} is attempting to grant RBAC permissions not currently held:\n" + "\n".join(lines)
    return message + (f"; resolution errors: [{', '.join(errors)}]" if errors else "")


def _same_but_for_garbage_fields(new: Object, old: Object) -> bool:
    """Removing an owner or a finalizer grants nothing; the garbage collector must be able to do it."""
    return _essence(new) == _essence(old)


def _essence(obj: Object) -> Object:
    ignored = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
    metadata = obj.get("metadata")
    return {**obj, "metadata": without(metadata, ignored) if isinstance(metadata, dict) else {}}


def _names(obj: Object) -> tuple[str, str]:
    return text(obj, "metadata", "name"), text(obj, "metadata", "namespace")
