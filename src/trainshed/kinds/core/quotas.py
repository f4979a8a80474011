"""ResourceQuotas."""

from __future__ import annotations

from typing import Final

from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import IMMUTABLE, Errors
from trainshed.kinds.core import resources
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import entries, mapping, sequence, texts
from trainshed.kube.faults import invalid, required
from trainshed.kube.objects import JSON, Object, dig, text

_PRIORITY: Final = "PriorityClass"
_EXISTENCE: Final = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity",
)  # fmt: skip
_COMPUTE: Final = frozenset(
    ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
)
_CONFLICTS: Final = (frozenset(("BestEffort", "NotBestEffort")), frozenset(("Terminating", "NotTerminating")))
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort "
    "or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def defaults(quota: Object) -> None:
    tidy(quota, "ResourceQuota")


def prepare(quota: Object) -> None:
    quota["status"] = {}


def errors(quota: Object, old: Object | None) -> Errors:
    spec = mapping(quota, "spec")
    found = _amounts("spec.hard", spec.get("hard"))
    found += _scopes("spec.scopes", spec) + _selector("spec.scopeSelector.matchExpressions", spec)
    if old is not None and set(texts(old, "spec", "scopes")) != set(texts(spec, "scopes")):
        found.append(invalid("spec.scopes", spec.get("scopes"), IMMUTABLE))
    return found


def status_errors(quota: Object, old: Object) -> Errors:
    status = mapping(quota, "status")
    return _amounts("status.hard", status.get("hard")) + _amounts("status.used", status.get("used"))


def _amounts(field: str, amounts: JSON) -> Errors:
    found: Errors = []
    for name, value in mapping(amounts).items():
        found += resources.quota_name_errors(f"{field}[{name}]", name)
        found += resources.amount_errors(f"{field}[{name}]", name, value)
    return found


def _scopes(field: str, spec: Object) -> Errors:
    found: Errors = []
    scopes = texts(spec, "scopes")
    for scope in scopes:
        if scope not in (*_EXISTENCE, _PRIORITY):
            found.append(invalid(field, scopes, "unsupported scope"))
        if not _applies(scope, spec):
            found.append(invalid(field, scopes, "unsupported scope applied to resource"))
    return found + _conflicts(field, set(scopes), scopes)


def _applies(scope: str, spec: Object) -> bool:
    """Scopes narrow down pods, so the quota may count only what pods use."""
    allowed = {"pods"} if scope == "BestEffort" else {"pods", *_COMPUTE}
    known = scope in (*_EXISTENCE, _PRIORITY)
    return not known or all(
        name in allowed for name in mapping(spec, "hard") if resources.is_quota_name(name)
    )


def _conflicts(field: str, scopes: set[str], shown: JSON) -> Errors:
    return [invalid(field, shown, "conflicting scopes") for pair in _CONFLICTS if pair <= scopes]


def _selector(field: str, spec: Object) -> Errors:
    found: Errors = []
    requirements = entries(spec, "scopeSelector", "matchExpressions")
    for requirement in requirements:
        scope = text(requirement, "scopeName")
        if scope not in (*_EXISTENCE, _PRIORITY):
            found.append(invalid(f"{field}.scopeName", scope, "unsupported scope"))
        if not _applies(scope, spec):
            shown = dig(spec, "scopeSelector")
            found.append(invalid(field, shown, "unsupported scope applied to resource"))
        found += _operator(field, scope, requirement)
    scopes = {text(requirement, "scopeName") for requirement in requirements}
    return found + _conflicts(field, scopes, sequence(spec, "scopes"))


def _operator(field: str, scope: str, requirement: Object) -> Errors:
    operator, values = text(requirement, "operator"), sequence(requirement, "values")
    found: Errors = []
    if scope in _EXISTENCE and operator != "Exists":
        found.append(invalid(f"{field}.operator", operator, _MUST_EXIST))
    if operator in ("In", "NotIn"):
        why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        return found if values else [*found, required(f"{field}.values", why)]
    if operator in ("Exists", "DoesNotExist"):
        why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        return [*found, invalid(f"{field}.values", values, why)] if values else found
    return [*found, invalid(f"{field}.operator", operator, "not a valid selector operator")]


RULES = Rules(
    defaults=defaults, on_create=prepare, validate=errors, validate_status=status_errors,
    always_returns_object_on_delete=True, has_generation=False,
)  # fmt: skip
