"""Amounts of things: resource names and quantities in requests, limits, quotas and capacities."""

from __future__ import annotations

from decimal import Decimal

from trainshed.kinds.checks import NEGATIVE, Errors
from trainshed.kinds.reading import mapping
from trainshed.kube import names, quantities
from trainshed.kube.faults import forbidden, invalid, required
from trainshed.kube.objects import JSON, Object

COMPUTE = ("cpu", "memory")
_SIZES = ("cpu", "memory", "ephemeral-storage")
_COUNTED = (
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
)  # fmt: skip
_SCOPED = tuple(f"{scope}.{size}" for scope in ("requests", "limits") for size in _SIZES)
QUOTA = frozenset((*_SIZES, *_SCOPED, *_COUNTED, "requests.storage"))
_STANDARD = QUOTA | {"storage"}


def parsed(value: JSON) -> Decimal | None:
    """The amount, or None where it cannot be read; numbers count as well: custom resources keep them."""
    try:
        return quantities.parse(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def is_whole(amount: Decimal) -> bool:
    return amount == amount.to_integral_value()


def is_huge_pages(name: str) -> bool:
    return name.startswith("hugepages-")


def is_native(name: str) -> bool:
    """Kubernetes' own resources: unprefixed, or in one of its domains."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Resources of devices, such as nvidia.com/gpu: whole numbers, never overcommitted."""
    return not (is_native(name) or name.startswith("requests.") or names.qualified_name(f"requests.{name}"))


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


# --- names ------------------------------------------------------------------------------------------------


def name_errors(field: str, name: str) -> Errors:
    if why := names.qualified_name(name):
        return [invalid(field, name, why)]
    if "/" not in name and name not in _STANDARD and not _is_quota_huge_pages(name):
        return [invalid(field, name, "must be a standard resource type or fully qualified")]
    return []


def container_name_errors(field: str, name: str) -> Errors:
    errors = name_errors(field, name)
    if "/" not in name:
        if name not in _SIZES and not is_huge_pages(name):
            errors.append(invalid(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(field, name, "doesn't follow extended resource name standard"))
    return errors


def quota_name_errors(field: str, name: str) -> Errors:
    errors = name_errors(field, name)
    if "/" not in name and not is_quota_name(name):
        errors.append(invalid(field, name, "must be a standard resource for quota"))
    return errors


def is_quota_name(name: str) -> bool:
    return name in QUOTA or _is_quota_huge_pages(name)


def _is_quota_huge_pages(name: str) -> bool:
    return is_huge_pages(name.removeprefix("requests."))


# --- amounts ----------------------------------------------------------------------------------------------


def amount_errors(field: str, name: str, value: JSON) -> Errors:
    """One quantity of one resource: readable, not negative, whole where only whole ones exist."""
    try:
        amount = quantities.parse(value)
    except ValueError as fault:
        return [invalid(field, value, str(fault))]
    errors = [invalid(field, value, NEGATIVE)] if amount < 0 else []
    if (name in _COUNTED or is_extended(name)) and not is_whole(amount):
        errors.append(invalid(field, value, "must be an integer"))
    return errors


def requirement_errors(field: str, requirements: JSON) -> Errors:
    """A container's `resources`."""
    limits, requests = mapping(requirements, "limits"), mapping(requirements, "requests")
    errors: Errors = []
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            errors += container_name_errors(f"{field}.{part}[{name}]", name)
            errors += amount_errors(f"{field}.{part}[{name}]", name, value)
    for name, value in requests.items():
        errors += _request_against_limit(field, name, value, limits)
    named = limits.keys() | requests.keys()
    if any(map(is_huge_pages, named)) and named.isdisjoint(COMPUTE):
        errors.append(forbidden(field, "HugePages require cpu or memory"))
    return errors


def _request_against_limit(field: str, name: str, value: JSON, limits: Object) -> Errors:
    if name not in limits:
        why = "Limit must be set for non overcommitable resources"
        return [] if may_overcommit(name) else [required(f"{field}.limits", why)]
    request, limit = parsed(value), parsed(limits[name])
    if request is None or limit is None or request == limit:
        return []
    if not may_overcommit(name):
        return [invalid(f"{field}.requests", value, f"must be equal to {name} limit of {limits[name]}")]
    if request > limit:
        why = f"must be less than or equal to {name} limit of {limits[name]}"
        return [invalid(f"{field}.requests", value, why)]
    return []


def quality_of_service(containers: list[Object]) -> str:
    """Guaranteed, Burstable or BestEffort, from the cpu and memory of all (init) containers."""
    requests: Object = {}
    limits: Object = {}
    guaranteed = True
    for container in containers:
        _add(requests, mapping(container, "resources", "requests"))
        own = mapping(container, "resources", "limits")
        _add(limits, own)
        guaranteed = guaranteed and all((parsed(own.get(name)) or 0) > 0 for name in COMPUTE)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add(total: Object, amounts: Object) -> None:
    for name in COMPUTE:
        amount = parsed(amounts.get(name))
        if amount is not None and amount > 0:
            total[name] = total.get(name, 0) + amount
