"""An identity, what it asks for, and the answer: the nouns every access decision is made of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from trainshed.kube import faults
from trainshed.kube.objects import Object

ADMIN_USER = "trainshed-admin"
ANONYMOUS_USER = "system:anonymous"
MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNTS = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"

PUBLIC_PATHS = frozenset(("/healthz", "/livez", "/readyz", "/version"))
"""What a request without a token may read; everything else answers 401."""


# Structs, not dataclasses: one of each is made per request, and a frozen dataclass costs a microsecond more.
class Identity(msgspec.Struct, frozen=True):
    """Who a request is made as. `impersonator` names the real user when it is somebody else."""

    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}
    impersonator: str = ""

    def user_info(self) -> Object:
        """The `UserInfo` of the review kinds; empty fields are left out."""
        info: Object = {"username": self.username}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


class Attributes(msgspec.Struct, frozen=True):
    """What somebody wants to do: to a resource, or (when `path` is set) to a plain path."""

    user: Identity
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(msgspec.Struct, frozen=True):
    allowed: bool
    reason: str = ""


def service_account(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def forbidden(attributes: Attributes, reason: str = "") -> faults.Forbidden:
    """The 403 for a refused request, worded as the real server words it."""
    why = _refusal(attributes)
    # The real server does this too: an error must not be readable as HTML by a browser.
    why = why.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return forbidden_object(
        attributes.group, attributes.resource, attributes.name, f"{why}: {reason}" if reason else why
    )


def forbidden_object(group: str, resource: str, name: str, why: str) -> faults.Forbidden:
    full = f"{resource}.{group}" if group else resource
    if not resource:
        message = f"forbidden: {why}"
    elif not name:
        message = f"{full} is forbidden: {why}"
    else:
        message = f"{full} {faults.shown(name)} is forbidden: {why}"
    return faults.Forbidden(message, name=name, group=group, kind=resource)


def _refusal(wanted: Attributes) -> str:
    user = f"User {faults.shown(wanted.user.username)} cannot {wanted.verb}"
    if wanted.path:
        return f"{user} path {faults.shown(wanted.path)}"
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    scope = (
        f"in the namespace {faults.shown(wanted.namespace)}" if wanted.namespace else "at the cluster scope"
    )
    return f"{user} resource {faults.shown(resource)} in API group {faults.shown(wanted.group)} {scope}"
