"""Secrets."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import configmaps
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, fill, mapping
from trainshed.kube import objects
from trainshed.kube.faults import FieldError, invalid, required, too_long
from trainshed.kube.objects import Object, dig, text

_PREFIX: Final = "kubernetes.io/"
_ACCOUNT: Final = "kubernetes.io/service-account.name"


def defaults(secret: Object) -> None:
    """`stringData` is for writing only: it goes into `data`, over what is there."""
    fill(secret, type="Opaque")
    configmaps.defaults(secret)
    plain = secret.get("stringData", {}) or {}
    if isinstance(plain, dict) and all(isinstance(value, str) for value in plain.values()):
        data = child(secret, "data") if plain else {}
        for key, value in plain.items():
            data[key] = b64encode(value.encode(errors="replace")).decode()
        secret.pop("stringData", None)


def errors(secret: Object, old: Object | None) -> Errors:
    found: Errors = []
    if old is not None:
        found += checks.immutable("type", secret.get("type"), old.get("type"))
        found += configmaps.frozen(secret, old, ("data",)) if dig(old, "immutable") is True else []
    data = mapping(secret, "data")
    found += configmaps.key_errors("data", data) + configmaps.base64_errors("data", data)
    if sum(map(configmaps.decoded_size, data.values())) > configmaps.MOST_BYTES:
        found.append(too_long("data", configmaps.MOST_BYTES))
    return found + _content(text(secret, "type"), secret, data)


def _content(kind: str, secret: Object, data: Object) -> Errors:
    """What the well-known types must hold."""
    match kind.removeprefix(_PREFIX) if kind.startswith(_PREFIX) else "":
        case "service-account-token":
            name = mapping(secret, "metadata", "annotations").get(_ACCOUNT)
            return [] if name else [required(f"metadata.annotations[{_ACCOUNT}]")]
        case "dockercfg":
            return _json(".dockercfg", data)
        case "dockerconfigjson":
            return _json(".dockerconfigjson", data)
        case "basic-auth":
            return [] if data.keys() & {"username", "password"} else _missing(data, "username", "password")
        case "ssh-auth":
            return [] if data.get("ssh-privatekey") else [required("data[ssh-privatekey]")]
        case "tls":
            return _missing(data, "tls.crt", "tls.key")
    return []


def _missing(data: Object, *keys: str) -> list[FieldError]:
    return [required(f"data[{key}]") for key in keys if key not in data]


def _json(key: str, data: Object) -> Errors:
    if key not in data:
        return [required(f"data[{key}]")]
    try:
        sound = isinstance(objects.decode(configmaps.decoded(data[key]) or b""), dict)
    except (ValueError, RecursionError):
        sound = False
    return [] if sound else [invalid(f"data[{key}]", "<secret contents redacted>", "must be a JSON object")]


RULES = Rules(defaults=defaults, validate=errors, has_generation=False)
