"""Who calls, as Kubernetes sees them, and what else every route may ask for: namespace, plane, settings."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from trainshed.backend import limits, parameters, problems
from trainshed.backend.identities import Identities, Identity
from trainshed.backend.plane import Plane
from trainshed.backend.problems import Problem
from trainshed.backend.settings import Settings
from trainshed.client import requests
from trainshed.client.client import Client
from trainshed.client.requests import Resource
from trainshed.kube import faults, names
from trainshed.kube.objects import Object, dig, encode, text

_REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False)
_ACCESS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False)
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,8192}")
_ACCOUNT = "system:serviceaccount:"
STRANGERS_WAIT_SECONDS = 5.0
bearer = HTTPBearer(auto_error=False, description="A token the Kubernetes API accepts.")


@dataclass(frozen=True, slots=True)
class Caller:
    user: str
    groups: tuple[str, ...]
    namespace: str
    """Where they work unless they say otherwise."""
    client: Client = field(repr=False)
    """The Kubernetes API as this caller."""

    async def may(
        self, verb: str, resource: str, namespace: str, name: str = "", subresource: str = "", group: str = ""
    ) -> bool:
        asked = _attributes(verb, resource, namespace, name, subresource, group)
        return bool(dig(await self._reviewed(asked), "status", "allowed"))

    async def require(
        self, verb: str, resource: str, namespace: str, name: str = "", subresource: str = "", group: str = ""
    ) -> None:
        """Raises the refusal the Kubernetes API would have given."""
        asked = _attributes(verb, resource, namespace, name, subresource, group)
        if not dig(await self._reviewed(asked), "status", "allowed"):
            raise Problem(403, refusal(self.user, asked))

    async def require_path(self, verb: str, path: str) -> None:
        """The same for a path that is no resource."""
        review = await self._reviewed_as({"nonResourceAttributes": {"path": path, "verb": verb}})
        if not dig(review, "status", "allowed"):
            raise Problem(403, f'forbidden: User "{self.user}" cannot {verb} path "{path}"')

    async def _reviewed(self, attributes: Object) -> Object:
        return await self._reviewed_as({"resourceAttributes": attributes})

    async def _reviewed_as(self, spec: Object) -> Object:
        review: Object = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": spec,
        }
        return await self.client.call(_post(_ACCESS, review))


def refusal(user: str, asked: Object) -> str:
    """The words of a Kubernetes API server for something that is not allowed."""
    resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
    about = f' "{asked["name"]}"' if asked.get("name") else ""
    kind = f"{resource}.{asked['group']}" if asked.get("group") else resource
    place = f' in the namespace "{asked["namespace"]}"' if asked.get("namespace") else " at the cluster scope"
    return (
        f'{kind}{about} is forbidden: User "{user}" cannot {asked["verb"]} resource "{resource}"'
        f' in API group "{asked.get("group", "")}"{place}'
    )


def _attributes(verb: str, resource: str, namespace: str, name: str, subresource: str, group: str) -> Object:
    full = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    return {key: value for key, value in full.items() if value}


def _post(resource: Resource, body: Object) -> requests.Request:
    return requests.raw(requests.collection_path(resource), method="POST", body=encode(body))


# --- what routes ask for ------------------------------------------------------------------------------------


# What needs nothing but the request is a plain function to call: FastAPI's solving of a dependency costs more
# than all it would do. Those that have to be dependencies are coroutines: others would be run in threads.


def the_plane(request: Request) -> Plane:
    found: Plane = request.app.state.plane
    return found


def the_settings(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


Sent = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]


async def current_caller(request: Request, sent: Sent) -> Caller:
    """The caller behind the bearer token. Raises 401 as the Kubernetes API does, 429 who calls too often."""
    if admitted := _admitted(request):
        return admitted
    token = _token(sent)
    return _welcome(request, token, await _asked(request, token))


async def judged_caller(request: Request, sent: Sent) -> Caller:
    """The same for requests that at once do something in Kubernetes as the caller.

    Who they are need not be asked again then: a token that has ended is refused there.
    """
    if admitted := _admitted(request):
        return admitted
    token = _token(sent)
    identities: Identities = request.app.state.identities
    return _welcome(request, token, identities.recent(token) or await _asked(request, token))


DOORS = (current_caller, judged_caller)


def _admitted(request: Request) -> Caller | None:
    """Who has been let in before the body was read: see `admission`."""
    found: Caller | None = getattr(request.state, "caller", None)
    return found


def _token(sent: HTTPAuthorizationCredentials | None) -> str:
    if sent is None or not _TOKEN.fullmatch(sent.credentials):
        raise problems.unauthorized("no token was sent" if sent is None else "that is no token")
    return sent.credentials


async def _asked(request: Request, token: str) -> Identity:
    """Who the token is, by the Kubernetes API."""
    identities: Identities = request.app.state.identities
    if identities.is_refused(token):
        raise faults.Unauthorized("Unauthorized")
    try:
        async with nullcontext() if identities.is_known(token) else _among_strangers(request):
            identity = await _identity(request, token)
    except faults.Unauthorized:
        identities.refuse(token)
        raise
    identities.remember(token, identity)
    return identity


def _among_strangers(request: Request) -> AbstractAsyncContextManager[None]:
    """Wrong tokens of one address are not asked for too often; a good one has its turn among them."""
    rates: limits.Rates = request.app.state.rates
    stranger = f"stranger {request.client.host if request.client else ''}"
    return rates.counting(stranger, faults.Unauthorized, STRANGERS_WAIT_SECONDS)


async def _identity(request: Request, token: str) -> Identity:
    plane: Plane = request.app.state.plane
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    review = await plane.as_caller(token).call(_post(_REVIEWS, body))
    groups = tuple(str(group) for group in dig(review, "status", "userInfo", "groups") or ())
    return Identity(text(review, "status", "userInfo", "username"), groups)


def _welcome(request: Request, token: str, identity: Identity) -> Caller:
    rates: limits.Rates = request.app.state.rates
    rates.require(f"tenant {tenant_of(identity.user)}")
    request.state.user = identity.user
    parameters.require_known(request)
    plane: Plane = request.app.state.plane
    home = home_of(identity.user) or plane.namespace
    return Caller(identity.user, identity.groups, home, plane.as_caller(token))


def home_of(user: str) -> str:
    """The namespace of a service account's user; empty for everybody else."""
    return user.removeprefix(_ACCOUNT).partition(":")[0] if user.startswith(_ACCOUNT) else ""


def tenant_of(user: str) -> str:
    """Whose share of the service a request uses: all accounts of a namespace are one tenant."""
    home = home_of(user)
    return f"namespace {home}" if home else f"user {user}"


CurrentCaller = Annotated[Caller, Depends(current_caller)]
JudgedCaller = Annotated[Caller, Depends(judged_caller)]


async def place(
    request: Request,
    caller: CurrentCaller,
    namespace: Annotated[
        str | None,
        Query(description="The namespace; the caller's own unless given.", examples=["user-123"]),
    ] = None,
) -> str:
    """The namespace a request is about. Raises 422 for what cannot be one."""
    found = checked_namespace(caller.namespace if namespace is None else namespace)
    request.state.place = found
    return found


def checked_namespace(namespace: str, field: str = "namespace") -> str:
    if why := names.dns_label(namespace):
        raise problems.invalid(field, f"{field}: {why}")
    return namespace


def checked_name(name: str, field: str = "name") -> str:
    """A name that can be part of a path to the Kubernetes API. Raises 422."""
    if why := names.dns_subdomain(name):
        raise problems.invalid(field, f"{field}: {why}")
    return name


Place = Annotated[str, Depends(place)]
