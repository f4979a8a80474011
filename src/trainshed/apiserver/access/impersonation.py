"""`Impersonate-*` headers: acting as somebody else, for those who are allowed to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote

from trainshed.apiserver.access.identity import (
    ANONYMOUS_USER,
    AUTHENTICATED,
    SERVICE_ACCOUNT_PREFIX,
    UNAUTHENTICATED,
    Attributes,
    Identity,
    forbidden,
    service_account_groups,
)
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.kube import faults, names

PREFIX = b"impersonate-"
_EXTRA = b"impersonate-extra-"
_REVIEW_GROUP = "authentication.k8s.io"

Headers = Iterable[tuple[bytes, bytes]]
"""As they arrive: names in lower case, a repeated header repeated."""


@dataclass(slots=True)
class _Wanted:
    user: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


def assume(real: Identity, headers: Headers, authorizer: Authorizer) -> Identity:
    """The identity the headers ask for; raises `Forbidden` or `BadRequest`. Without such headers: `real`."""
    wanted = _read(headers)
    if not wanted.user:
        if wanted.groups or wanted.extra or wanted.uid:
            raise faults.BadRequest(
                "requested impersonation of groups, uid or extra without impersonating a user"
            )
        return real
    for attributes in _needed(real, wanted):
        decision = authorizer.decide(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)
    extra = {key: tuple(values) for key, values in wanted.extra.items()}
    return Identity(wanted.user, wanted.uid, _groups(wanted), extra, real.username)


def _read(headers: Headers) -> _Wanted:
    wanted = _Wanted()
    for name, value in headers:
        if not name.startswith(PREFIX):
            continue
        text = value.decode("utf-8", "replace")
        if name == b"impersonate-user":
            wanted.user = wanted.user or text
        elif name == b"impersonate-group":
            wanted.groups.append(text)
        elif name == b"impersonate-uid":
            wanted.uid = wanted.uid or text
        elif name.startswith(_EXTRA):
            key = unquote(name[len(_EXTRA) :].decode("latin-1").lower())
            wanted.extra.setdefault(key, []).append(text)
    return wanted


def _needed(real: Identity, wanted: _Wanted) -> Iterable[Attributes]:
    """One right per thing assumed, as upstream asks for them."""
    account = _split_account(wanted.user)
    if account is not None:
        yield Attributes(real, "impersonate", "", "v1", "serviceaccounts", "", account[0], account[1])
    else:
        yield Attributes(real, "impersonate", "", "v1", "users", name=wanted.user)
    for group in wanted.groups:
        yield Attributes(real, "impersonate", "", "v1", "groups", name=group)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes(real, "impersonate", _REVIEW_GROUP, "v1", "userextras", key, name=value)
    if wanted.uid:
        yield Attributes(real, "impersonate", _REVIEW_GROUP, "v1", "uids", name=wanted.uid)


def _groups(wanted: _Wanted) -> tuple[str, ...]:
    account = _split_account(wanted.user)
    groups = list(wanted.groups)
    if account is not None and not groups:
        groups = list(service_account_groups(account[0]))
    usual = UNAUTHENTICATED if wanted.user == ANONYMOUS_USER else AUTHENTICATED
    # Somebody who asks for system:unauthenticated gets exactly that.
    if usual not in groups and UNAUTHENTICATED not in groups:
        groups.append(usual)
    return tuple(groups)


def _split_account(user: str) -> tuple[str, str] | None:
    """Namespace and name of `system:serviceaccount:NAMESPACE:NAME`; None for any other user."""
    if not user.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    parts = user.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":")
    if len(parts) != 2 or names.dns_label(parts[0]) or names.dns_subdomain(parts[1]):
        return None
    return parts[0], parts[1]
