"""Service-account tokens: issued with an audience and an end, honoured only while what they name exists.

A signature is checked once and remembered; everything that can revoke a token (its time, its account, the
object it is bound to) is checked on every use, cheaply as long as nothing of that kind has changed.
"""

from __future__ import annotations

import base64
import hmac
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trainshed.apiserver.access.identity import (
    AUTHENTICATED,
    Identity,
    service_account,
    service_account_groups,
)
from trainshed.apiserver.access.lookup import Lookup
from trainshed.apiserver.access.signing import BadSignature, SigningKey
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, dig, text

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEGACY_ISSUER = "kubernetes/serviceaccount"
LEGACY_SECRET_TYPE = "kubernetes.io/service-account-token"

_LEEWAY = 60.0
"""Seconds of clock difference and of grace after a deletion that upstream's token library allows."""
_EXTRA = "authentication.kubernetes.io/"
_LEGACY = "kubernetes.io/serviceaccount/"
_REMEMBERED = 2048
_FOREVER = float("inf")


class Rejected(Exception):
    """The token is not (or no longer) good; the message says why and is safe to show in a TokenReview."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Another object a token depends on."""

    resource: str
    namespace: str
    name: str
    uid: str


@dataclass(slots=True)
class _Token:
    """A token's claims as read once, and until when and at which revision its dependencies were seen well."""

    identity: Identity
    audiences: tuple[str, ...]
    starts: float
    ends: float
    depends: tuple[Reference, ...]
    secret: Reference | None = None
    checked: int = -1
    well_until: float = 0.0
    resources: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.resources = tuple(reference.resource for reference in self.depends)


class AccountTokens:
    """Issues and verifies service-account tokens."""

    def __init__(self, key: SigningKey, lookup: Lookup, now: Callable[[], float] = time.time) -> None:
        self._key, self._lookup, self._now = key, lookup, now
        self._read: OrderedDict[str, _Token] = OrderedDict()

    def issue(
        self,
        account: Object,
        audiences: Sequence[str],
        seconds: int,
        bound: Mapping[str, Object] | None = None,
    ) -> str:
        """A token for an account; `bound` maps "pod", "secret" or "node" to the objects it is bound to."""
        namespace, name = text(account, "metadata", "namespace"), text(account, "metadata", "name")
        now = int(self._now())
        inner: Object = {"namespace": namespace, "serviceaccount": _reference_claim(account)}
        inner |= {key: _reference_claim(obj) for key, obj in (bound or {}).items()}
        return self._key.sign({
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": inner,
            "nbf": now,
            "sub": service_account(namespace, name),
        })  # fmt: skip

    def verify(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[Identity, tuple[str, ...]]:
        """The identity and those of the wanted audiences the token is good for; raises `Rejected`."""
        read = self._read.get(token)
        if read is None:
            read = self._remember(token)
        else:
            self._read.move_to_end(token)
        now = self._now()
        if now > read.ends + _LEEWAY:
            raise Rejected("service account token has expired")
        if now < read.starts - _LEEWAY:
            raise Rejected("service account token is not valid yet")
        shared = tuple(audience for audience in read.audiences if audience in audiences)
        if not shared:
            raise Rejected(_wrong_audience(read.audiences, audiences))
        revision = self._lookup.revision_of(read.resources)
        if revision != read.checked or now >= read.well_until:
            self._check(token, read, now)
            read.checked = revision
        return read.identity, shared

    def openid_configuration(self, jwks_uri: str) -> Object:
        """What `/.well-known/openid-configuration` answers."""
        return {
            "issuer": ISSUER,
            "jwks_uri": jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }

    def jwks(self) -> Object:
        return self._key.jwks()

    def fill_secret(self, secret: Object, account: Object, authority_pem: bytes) -> None:
        """Complete a `kubernetes.io/service-account-token` Secret in place, as the token controller would."""
        claims: Object = {
            "iss": LEGACY_ISSUER,
            f"{_LEGACY}namespace": text(account, "metadata", "namespace"),
            f"{_LEGACY}secret.name": text(secret, "metadata", "name"),
            f"{_LEGACY}service-account.name": text(account, "metadata", "name"),
            f"{_LEGACY}service-account.uid": text(account, "metadata", "uid"),
        }
        claims["sub"] = service_account(
            claims[f"{_LEGACY}namespace"], claims[f"{_LEGACY}service-account.name"]
        )
        data = secret["data"] = dict(secret.get("data") or {})
        data["ca.crt"] = _base64(authority_pem)
        data.setdefault("namespace", _base64(claims[f"{_LEGACY}namespace"].encode()))
        if not data.get("token"):
            data["token"] = _base64(self._key.sign(claims).encode())
        annotations = secret["metadata"]["annotations"] = dict(dig(secret, "metadata", "annotations") or {})
        annotations["kubernetes.io/service-account.name"] = claims[f"{_LEGACY}service-account.name"]
        annotations["kubernetes.io/service-account.uid"] = claims[f"{_LEGACY}service-account.uid"]

    def _remember(self, token: str) -> _Token:
        try:
            claims = self._key.verify(token)
        except BadSignature as error:
            raise Rejected("invalid bearer token") from error
        read = _read_legacy(claims) if claims.get("iss") == LEGACY_ISSUER else _read_bound(claims)
        self._read[token] = read
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)
        return read

    def _check(self, token: str, read: _Token, now: float) -> None:
        """Everything the token names must still be there, the same object, and not be long deleted."""
        grace = 0.0 if read.secret else _LEEWAY
        until = _FOREVER
        for reference in read.depends:
            found = self._lookup.get(reference.resource, reference.namespace, reference.name)
            until = min(until, _good_until(found, reference, grace))
            if now >= until:
                raise Rejected("service account token has been invalidated")
            if reference == read.secret and not _holds(found, token):
                raise Rejected("Token does not match server's copy")
        read.well_until = until


def _read_bound(claims: Object) -> _Token:
    inner = claims.get("kubernetes.io")
    namespace = text(inner, "namespace")
    name, uid = text(inner, "serviceaccount", "name"), text(inner, "serviceaccount", "uid")
    if claims.get("iss") != ISSUER or not (namespace and name and uid):
        raise Rejected("invalid bearer token")
    if text(claims, "sub") != service_account(namespace, name):
        raise Rejected("sub claim is invalid")
    depends = [Reference("serviceaccounts", namespace, name, uid)]
    if isinstance(dig(inner, "pod"), dict):
        depends.append(_named("pods", namespace, dig(inner, "pod")))
    elif isinstance(dig(inner, "node"), dict):
        # With a pod the node is only information; a token bound to the node alone ends with it.
        depends.append(_named("nodes", "", dig(inner, "node")))
    if isinstance(dig(inner, "secret"), dict):
        depends.append(_named("secrets", namespace, dig(inner, "secret")))
    identity = _identity(namespace, name, uid, _extra(claims, inner))
    return _Token(
        identity, _audiences(claims), _number(claims, "nbf", 0.0), _number(claims, "exp", 0.0), tuple(depends)
    )


def _read_legacy(claims: Object) -> _Token:
    keys = ("namespace", "secret.name", "service-account.name", "service-account.uid")
    namespace, secret, name, uid = (text(claims, _LEGACY + key) for key in keys)
    if not (namespace and secret and name and uid):
        raise Rejected("invalid bearer token")
    if text(claims, "sub") != service_account(namespace, name):
        raise Rejected("sub claim is invalid")
    # The secret's uid is not among the claims; its stored copy of the token is compared instead.
    copy = Reference("secrets", namespace, secret, "")
    depends = (Reference("serviceaccounts", namespace, name, uid), copy)
    return _Token(_identity(namespace, name, uid, {}), (ISSUER,), 0.0, _FOREVER, depends, copy)


def _identity(namespace: str, name: str, uid: str, extra: Mapping[str, tuple[str, ...]]) -> Identity:
    groups = (*service_account_groups(namespace), AUTHENTICATED)
    return Identity(service_account(namespace, name), uid, groups, extra)


def _extra(claims: Object, inner: JSON) -> dict[str, tuple[str, ...]]:
    credential = text(claims, "jti")
    given = {
        "pod-name": text(inner, "pod", "name"),
        "pod-uid": text(inner, "pod", "uid"),
        "node-name": text(inner, "node", "name"),
        "node-uid": text(inner, "node", "uid"),
        "credential-id": f"JTI={credential}" if credential else "",
    }
    return {_EXTRA + key: (value,) for key, value in given.items() if value}


def _named(resource: str, namespace: str, claim: Object) -> Reference:
    return Reference(resource, namespace, text(claim, "name"), text(claim, "uid"))


def _reference_claim(obj: Object) -> Object:
    claim = {"name": text(obj, "metadata", "name"), "uid": text(obj, "metadata", "uid")}
    return {key: value for key, value in claim.items() if value}


def _good_until(found: Object | None, reference: Reference, grace: float) -> float:
    if found is None or (reference.uid and text(found, "metadata", "uid") != reference.uid):
        return 0.0
    deleted = ages.parse_timestamp(dig(found, "metadata", "deletionTimestamp"))
    return _FOREVER if deleted is None else deleted.timestamp() + grace


def _holds(secret: Object | None, token: str) -> bool:
    stored = text(secret, "data", "token")
    return hmac.compare_digest(stored.encode(), _base64(token.encode()).encode())


def _audiences(claims: Object) -> tuple[str, ...]:
    given = claims.get("aud")
    if isinstance(given, str):
        return (given,)
    return tuple(item for item in given if isinstance(item, str)) if isinstance(given, list) else ()


def _number(claims: Object, key: str, default: float) -> float:
    value = claims.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _wrong_audience(given: Sequence[str], wanted: Sequence[str]) -> str:
    shown = ["[" + " ".join(f'"{item}"' for item in items) + "]" for items in (given, wanted)]
    return f"token audiences {shown[0]} is invalid for the target audiences {shown[1]}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
