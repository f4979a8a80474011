"""What one object takes from the ResourceQuotas of its namespace; pure.

Each kind has an account: the names of a quota it draws on, how much of them one object takes, and the scopes
it is in. Kinds without one of their own are counted.
https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Final

from trainshed.kinds.core import podamounts, resources
from trainshed.kinds.reading import entries, mapping, number, texts
from trainshed.kube import ages, quantities
from trainshed.kube.objects import Object, dig, text

Taken = Mapping[str, str]
"""Canonical quantities by the names quotas use."""

IGNORED: Final = frozenset(("events", "bindings"))
"""Kinds that no quota counts."""
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES: Final = frozenset(
    (
        "count/pods",
        "pods",
        *_COMPUTE,
        *(f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE),
    )
)
_SERVICE_NAMES: Final = frozenset(
    ("count/services", "services", "services.nodeports", "services.loadbalancers")
)
_CLAIM_NAMES: Final = ("persistentvolumeclaims", "requests.storage")
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_ALSO_CALLED: Final = frozenset(("configmaps", "resourcequotas", "replicationcontrollers", "secrets"))
"""Kinds that were counted by their bare names before `count/` came."""
_DEMANDED: Final = frozenset(
    ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
)
"""Where a quota names one of these, every container must say how much of it it wants."""
_FINISHED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Account:
    """How one kind draws on quotas."""

    draws_on: Callable[[str], bool]
    take: Callable[[Object, datetime], Taken]
    is_in: Callable[[Object, Object], bool] = lambda obj, scope: False
    """Whether an object is in the scope of a requirement (`scopeName`, `operator`, `values`)."""
    may_grow: Callable[[Object, Object], bool] = lambda new, old: False
    """Whether a change from one to the other has to be looked at."""


def account(resource: str) -> Account:
    return _ACCOUNTS.get(resource) or _counted(resource)


def is_covered(obj: Object, spec: Object, own: Account) -> bool:
    """Whether a quota of this spec is about the object: all its scopes must hold."""
    return all(own.is_in(obj, scope) for scope in scopes(spec))


def scopes(spec: Object) -> list[Object]:
    plain: list[Object] = [{"scopeName": name, "operator": "Exists"} for name in texts(spec, "scopes")]
    return plain + entries(spec, "scopeSelector", "matchExpressions")


# --- kinds that are only counted --------------------------------------------------------------------------


def _counted(resource: str) -> Account:
    names = frozenset((f"count/{resource}",)) | ({resource} & _ALSO_CALLED)
    taken = dict.fromkeys(names, "1")
    return Account(names.__contains__, lambda obj, now: taken)


# --- pods -------------------------------------------------------------------------------------------------


def _pod_draws_on(name: str) -> bool:
    bare = name.removeprefix("requests.")
    is_device = bare != name and not resources.is_native(bare)
    return name in _POD_NAMES or resources.is_huge_pages(bare) or is_device


def _pod_takes(pod: Object, now: datetime) -> Taken:
    if not is_charged(pod, now):
        return {"count/pods": "1"}
    spec = mapping(pod, "spec")
    asked, most = podamounts.requests(spec), podamounts.limits(spec)
    return {"count/pods": "1", **_named(asked, most)}


def is_charged(pod: Object, now: datetime) -> bool:
    """Finished pods take nothing, and neither do those that should long be gone."""
    if text(pod, "status", "phase") in _FINISHED:
        return False
    until = charged_until(pod)
    return until is None or now <= until


def charged_until(pod: Object) -> datetime | None:
    """When a leaving pod stops to count even if it is still there: its node may be lost."""
    leaving = ages.parse_timestamp(dig(pod, "metadata", "deletionTimestamp"))
    grace = number(pod, "metadata", "deletionGracePeriodSeconds")
    return None if leaving is None or grace is None else leaving + timedelta(seconds=grace)


def _named(asked: Taken, most: Taken) -> dict[str, str]:
    """Amounts of containers or of a pod by the names quotas use."""
    taken = {"pods": "1"}
    for name in _COMPUTE:
        if name in asked:
            taken[name] = taken[f"requests.{name}"] = asked[name]
        if name in most:
            taken[f"limits.{name}"] = most[name]
    for name, amount in asked.items():
        if resources.is_huge_pages(name):
            taken[name] = taken[f"requests.{name}"] = amount
        elif resources.is_extended(name):
            taken[f"requests.{name}"] = amount
    return taken


def unsaid(pod: Object, names: frozenset[str]) -> str:
    """Which of the amounts a quota needs to know are missing, in the real server's words; or nothing."""
    spec = mapping(pod, "spec")
    if any(mapping(spec, "resources", part).keys() & set(_COMPUTE) for part in ("requests", "limits")):
        return ""
    missing: dict[str, set[str]] = {}
    for container in entries(spec, "containers") + entries(spec, "initContainers"):
        said = _named(mapping(container, "resources", "requests"), mapping(container, "resources", "limits"))
        for name in _DEMANDED.intersection(names) - said.keys():
            missing.setdefault(name, set()).add(text(container, "name"))
    listed = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
    return f"must specify {listed}" if listed else ""


def _pod_is_in(pod: Object, scope: Object) -> bool:
    name = text(scope, "scopeName")
    if name == "PriorityClass":
        return _has_class(text(pod, "spec", "priorityClassName"), scope)
    rule = _POD_SCOPES.get(name)
    return rule is not None and rule(pod)


def _has_class(found: str, scope: Object) -> bool:
    operator, wanted = text(scope, "operator"), texts(scope, "values")
    if operator == "In":
        return found in wanted
    if operator == "NotIn":
        return found not in wanted
    return bool(found) == (operator == "Exists")


def _ends_by_itself(pod: Object) -> bool:
    seconds = number(pod, "spec", "activeDeadlineSeconds")
    return seconds is not None and seconds >= 0


def _asks_for_nothing(pod: Object) -> bool:
    spec = mapping(pod, "spec")
    every = entries(spec, "containers") + entries(spec, "initContainers")
    return resources.quality_of_service(every) == "BestEffort"


def _looks_beyond_its_namespace(pod: Object) -> bool:
    for part in ("podAffinity", "podAntiAffinity"):
        rules = mapping(pod, "spec", "affinity", part)
        terms = entries(rules, "requiredDuringSchedulingIgnoredDuringExecution")
        weighted = entries(rules, "preferredDuringSchedulingIgnoredDuringExecution")
        terms += [mapping(item, "podAffinityTerm") for item in weighted]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


_POD_SCOPES: Final[Mapping[str, Callable[[Object], bool]]] = {
    "Terminating": _ends_by_itself,
    "NotTerminating": lambda pod: not _ends_by_itself(pod),
    "BestEffort": _asks_for_nothing,
    "NotBestEffort": lambda pod: not _asks_for_nothing(pod),
    "CrossNamespacePodAffinity": _looks_beyond_its_namespace,
}


# --- services and claims ----------------------------------------------------------------------------------


def _service_takes(service: Object, now: datetime) -> Taken:
    spec = mapping(service, "spec")
    kind, ports = text(spec, "type"), entries(spec, "ports")
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    opened = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    return {
        "count/services": "1",
        "services": "1",
        "services.nodeports": str(opened),
        "services.loadbalancers": "1" if kind == "LoadBalancer" else "0",
    }


def _claim_takes(claim: Object, now: datetime) -> Taken:
    taken = {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1"}
    asked = resources.parsed(dig(claim, "spec", "resources", "requests", "storage"))
    if asked is not None:
        like = text(claim, "spec", "resources", "requests", "storage")
        held = resources.parsed(dig(claim, "status", "allocatedResources", "storage"))
        taken["requests.storage"] = quantities.format(_whole(max(asked, held or asked)), like)
    if storage_class := text(claim, "spec", "storageClassName"):
        taken |= {f"{storage_class}{_OF_CLASS}{name}": taken[name] for name in _CLAIM_NAMES if name in taken}
    return taken


def _whole(amount: Decimal) -> Decimal:
    return amount.to_integral_value(rounding=ROUND_CEILING)


def _claim_draws_on(name: str) -> bool:
    bare = name.partition(_OF_CLASS)[2] or name
    return bare in _CLAIM_NAMES or name == "count/persistentvolumeclaims"


_ACCOUNTS: Final = {
    "pods": Account(
        _pod_draws_on,
        _pod_takes,
        _pod_is_in,
        lambda new, old: _ends_by_itself(new) != _ends_by_itself(old),
    ),
    "services": Account(_SERVICE_NAMES.__contains__, _service_takes, may_grow=lambda new, old: True),
    "persistentvolumeclaims": Account(_claim_draws_on, _claim_takes, may_grow=lambda new, old: True),
}
