"""Environment variables of a container: values, and where else they may come from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import resources
from trainshed.kinds.reading import entries, fill, mapping
from trainshed.kube import names
from trainshed.kube.faults import invalid, required, unsupported
from trainshed.kube.objects import JSON, Object, dig, text

_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
VOLUME_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
)  # fmt: skip
_POD_FIELDS: Final = {*_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_POD_FIELDS.add("spec.host")
_AMOUNTS: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_SUBSCRIPT: Final = re.compile(r"([^\[]+)\['(.*)'\]", re.DOTALL)
_BYTE_DIVISORS: Final = ("1", *(f"1{unit}" for unit in "kMGTPE"), *(f"1{unit}i" for unit in "KMGTPE"))
_DIVISORS: Final = {
    "cpu": (("1m", "1"), "1m and 1", "cpu"),
    "memory": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "memory"),
    "ephemeral-storage": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "local ephemeral storage"),
}
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")


def variable(name: str, value: JSON) -> Object:
    """One with a plain value, as containers have them."""
    return {"name": name, "value": str(value)}


def defaults(container: Object) -> None:
    for variable in entries(container, "env"):
        default_field_ref(mapping(variable, "valueFrom"))


def default_field_ref(source: Object) -> None:
    if isinstance(source.get("fieldRef"), dict):
        fill(source["fieldRef"], apiVersion="v1")


def errors(field: str, container: JSON) -> Errors:
    found: Errors = []
    for index, variable in enumerate(entries(container, "env")):
        found += _variable(f"{field}.env[{index}]", variable)
    for index, source in enumerate(entries(container, "envFrom")):
        found += _bulk_source(f"{field}.envFrom", index, source)
    return found


def warnings(field: str, container: JSON) -> list[str]:
    """A later variable of the same name hides the earlier one, unless it builds on it."""
    found, seen = [], set()
    for index, variable in enumerate(entries(container, "env")):
        name, value = text(variable, "name"), text(variable, "value")
        builds_on_it = f"$({name})" in value and value != f"$({name})" and not dig(variable, "valueFrom")
        if name in seen and not builds_on_it:
            why = f'hides previous definition of "{name}", which may be dropped when using apply'
            found.append(f"{field}.env[{index}]: {why}")
        seen.add(name)
    return found


def _variable(field: str, variable: Object) -> Errors:
    name = text(variable, "name")
    found = [invalid(f"{field}.name", name, why) for why in checks.env_name_faults(name)]
    found = found if name else [required(f"{field}.name")]
    if isinstance(variable.get("valueFrom"), dict):
        found += _source(f"{field}.valueFrom", variable["valueFrom"], text(variable, "value"))
    return found


def _source(field: str, source: Object, value: str) -> Errors:
    found: Errors = []
    chosen = [name for name in _SOURCES if isinstance(source.get(name), dict)]
    for name in chosen:
        found += _SOURCE_CHECKS[name](f"{field}.{name}", source[name])
    if not chosen:
        why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        found.append(invalid(field, "", why))
    elif value:
        found.append(invalid(field, "", "may not be specified when `value` is not empty"))
    elif len(chosen) > 1:
        found.append(invalid(field, "", "may not have more than one field specified at a time"))
    return found


def field_ref(field: str, ref: Object, allowed: tuple[str, ...] = _FIELDS) -> Errors:
    """A reference to a field of the pod itself."""
    for name in ("apiVersion", "fieldPath"):
        if not text(ref, name):
            return [required(f"{field}.{name}")]
    path = text(ref, "fieldPath")
    if why := _unconvertible(text(ref, "apiVersion"), path):
        return [invalid(f"{field}.fieldPath", path, f"error converting fieldPath: {why}")]
    if subscripted := _SUBSCRIPT.fullmatch(path):
        key = subscripted[2]
        return checks.qualified(field, key.lower() if "annotations" in subscripted[1] else key)
    path = "spec.nodeName" if path == "spec.host" else path
    return [] if path in allowed else [unsupported(f"{field}.fieldPath", path, allowed)]


def _unconvertible(version: str, path: str) -> str | None:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted := _SUBSCRIPT.fullmatch(path):
        is_map = subscripted[1] in ("metadata.annotations", "metadata.labels")
        return None if is_map else f"field label does not support subscript: {path}"
    return None if path in _POD_FIELDS else f"field label not supported: {path}"


def amount_ref(field: str, ref: Object, *, in_volume: bool = False) -> Errors:
    """A reference to a container's request or limit."""
    amount, found = text(ref, "resource"), []
    huge = amount.startswith(("requests.hugepages-", "limits.hugepages-"))
    if in_volume and not text(ref, "containerName"):
        found.append(required(f"{field}.containerName"))
    elif not amount:
        found.append(required(f"{field}.resource"))
    elif amount not in _AMOUNTS and not huge:
        found.append(unsupported(f"{field}.resource", amount, _AMOUNTS))
    return found + _divisor(field, amount, text(ref, "divisor"))


def _divisor(field: str, amount: str, divisor: str) -> Errors:
    allowed, listed, word = _DIVISORS.get(amount.partition(".")[2], ((), "", ""))
    if not allowed or divisor in ("", *allowed) or not resources.parsed(divisor):
        return []
    why = f"only divisor's values {listed} are supported with the {word} resource"
    return [invalid(f"{field}.divisor", amount, why)]


def _key_ref(field: str, ref: Object) -> Errors:
    name, key = text(ref, "name"), text(ref, "key")
    why = names.dns_subdomain(name)
    found = [invalid(f"{field}.name", name, why)] if why else []
    if not key:
        return [*found, required(f"{field}.key")]
    return found + [invalid(f"{field}.key", key, why) for why in checks.config_key_faults(key)]


def _bulk_source(field: str, index: int, source: Object) -> Errors:
    at, prefix = f"{field}[{index}]", text(source, "prefix")
    found = [invalid(f"{at}.prefix", prefix, why) for why in checks.env_name_faults(prefix) if prefix]
    chosen = [name for name in ("configMapRef", "secretRef") if isinstance(source.get(name), dict)]
    for name in chosen:
        found += checks.named(f"{at}.{name}.name", dig(source, name, "name"), names.dns_subdomain)
    if not chosen:
        found.append(invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif len(chosen) > 1:
        found.append(invalid(field, "", "may not have more than one field specified at a time"))
    return found


_SOURCE_CHECKS: Final[dict[str, Callable[[str, Object], Errors]]] = {
    "fieldRef": field_ref,
    "resourceFieldRef": amount_ref,
    "configMapKeyRef": _key_ref,
    "secretKeyRef": _key_ref,
}
