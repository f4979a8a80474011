"""`POST serviceaccounts/NAME/token`: checks what is asked for and issues the token."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from trainshed.apiserver.access import rules
from trainshed.apiserver.access.lookup import Lookup
from trainshed.apiserver.access.tokens import ISSUER, AccountTokens
from trainshed.kube import ages, faults
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object, text

GROUP = "authentication.k8s.io"
DEFAULT_SECONDS = 3600
LEAST_SECONDS = 600


class _Bindable(NamedTuple):
    claim: str
    resource: str
    namespaced: bool


_BINDABLE = {
    "Pod": _Bindable("pod", "pods", True),
    "Secret": _Bindable("secret", "secrets", True),
    "Node": _Bindable("node", "nodes", False),
}


class TokenRequests:
    def __init__(self, tokens: AccountTokens, lookup: Lookup, now: Callable[[], datetime]) -> None:
        self._tokens, self._lookup, self._now = tokens, lookup, now

    def answer(self, request: Object, namespace: str, name: str) -> Object:
        """The TokenRequest with its status filled in; raises a `Fault` where it cannot be granted."""
        account = self._lookup.get("serviceaccounts", namespace, name)
        _check_target(request, namespace, name)
        if account is None:
            raise _missing("serviceaccounts", name)
        spec = request.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        seconds = _seconds(spec)
        if errors := _errors(spec, seconds):
            raise faults.refuse("TokenRequest", GROUP, "", errors)
        _check_uid(request, account, name)
        audiences = rules.texts(spec.get("audiences")) or (ISSUER,)
        bound = self._bound(spec.get("boundObjectRef"), namespace, name)
        token = self._tokens.issue(account, audiences, seconds, bound)
        return self._answered(
            account, {**spec, "audiences": list(audiences), "expirationSeconds": seconds}, token
        )

    def _answered(self, account: Object, spec: Object, token: str) -> Object:
        now = self._now().astimezone(UTC)
        metadata = {key: text(account, "metadata", key) for key in ("name", "namespace", "uid")}
        ends = ages.timestamp(now + timedelta(seconds=spec["expirationSeconds"]))
        return {
            "kind": "TokenRequest",
            "apiVersion": f"{GROUP}/v1",
            "metadata": {**metadata, "creationTimestamp": ages.timestamp(now)},
            "spec": {"boundObjectRef": None, **spec},
            "status": {"token": token, "expirationTimestamp": ends},
        }

    def _bound(self, reference: JSON, namespace: str, account: str) -> dict[str, Object]:
        if reference is None:
            return {}
        kind, version = text(reference, "kind"), text(reference, "apiVersion")
        bindable = _BINDABLE.get(kind) if version in ("", "v1") else None
        if bindable is None:
            group, _, short = version.rpartition("/")
            raise faults.BadRequest(f"cannot bind token to object of type {group}/{short}, Kind={kind}")
        name = text(reference, "name")
        found = self._lookup.get(bindable.resource, namespace if bindable.namespaced else "", name)
        if found is None:
            raise _missing(bindable.resource, name)
        _check_bound_uid(reference, found, kind)
        if kind == "Pod":
            return self._bound_pod(found, account)
        return {bindable.claim: found}

    def _bound_pod(self, pod: Object, account: str) -> dict[str, Object]:
        if text(pod, "spec", "serviceAccountName") != account:
            raise faults.BadRequest(
                f"cannot bind token for serviceaccount {faults.shown(account)} to pod running with different "
                f"serviceaccount name."
            )
        bound = {"pod": pod}
        if node := text(pod, "spec", "nodeName"):
            # The claim tells where the pod runs even if the Node object is not there.
            bound["node"] = self._lookup.get("nodes", "", node) or {"metadata": {"name": node}}
        return bound


def _check_target(request: Object, namespace: str, name: str) -> None:
    for key, wanted, noun in (("name", name, "name"), ("namespace", namespace, "namespace")):
        given = text(request, "metadata", key)
        if given and given != wanted:
            why = f"must match the service account {noun} if specified"
            raise faults.refuse("TokenRequest", GROUP, name, [faults.invalid(f"metadata.{key}", given, why)])


def _check_uid(request: Object, account: Object, name: str) -> None:
    given, real = text(request, "metadata", "uid"), text(account, "metadata", "uid")
    if given and given != real:
        why = f"the UID in the token request ({given}) does not match the UID of the service account ({real})"
        raise _conflict("TokenRequest", GROUP, name, why)


def _check_bound_uid(reference: JSON, found: Object, kind: str) -> None:
    given = text(reference, "uid")
    if given and given != text(found, "metadata", "uid"):
        why = (
            f"the UID in the bound object reference ({given}) does not match the UID in record. "
            f"The object might have been deleted and then recreated"
        )
        raise _conflict(kind, "", text(reference, "name"), why)


def _seconds(spec: Object) -> JSON:
    given = spec.get("expirationSeconds")
    return DEFAULT_SECONDS if given is None else given


def _errors(spec: Object, seconds: JSON) -> list[FieldError]:
    field = "spec.expirationSeconds"
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return [faults.wrong_type(field, seconds, "must be an integer")]
    if seconds < LEAST_SECONDS:
        return [faults.invalid(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > 1 << 32:
        return [faults.invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _missing(resource: str, name: str) -> faults.NotFound:
    return faults.NotFound(f"{resource} {faults.shown(name)} not found", name=name, kind=resource)


def _conflict(kind: str, group: str, name: str, why: str) -> faults.Conflict:
    full = f"{kind}.{group}" if group else kind
    message = f"Operation cannot be fulfilled on {full} {faults.shown(name)}: {why}"
    return faults.Conflict(message, name=name, group=group, kind=kind)
