"""JobSpec: the part shared by Jobs and the jobs a CronJob makes."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import podspecs
from trainshed.kinds.reading import entries, fill, mapping, number, sequence
from trainshed.kube import names
from trainshed.kube.faults import FieldError, duplicate, invalid, required, too_long, too_many, unsupported
from trainshed.kube.objects import JSON, Object, dig, text

_NUMBERS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES: Final = ("False", "True", "Unknown")
_MOST_PODS: Final = 100_000
_MOST_RULES: Final = 20
_MOST_EXIT_CODES: Final = 255


def defaults(spec: Object) -> None:
    default_numbers(spec)
    podspecs.default_template(spec)


def default_numbers(spec: Object) -> None:
    """Everything but the template."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    per_index = spec.get("backoffLimitPerIndex") is not None
    fill(spec, parallelism=1, backoffLimit=checks.MOST_INT32 if per_index else 6)
    fill(spec, completionMode="NonIndexed", suspend=False, manualSelector=False)
    for rule in entries(spec, "podFailurePolicy", "rules"):
        for pattern in entries(rule, "onPodConditions"):
            fill(pattern, status="True")
    has_policy = spec.get("podFailurePolicy") is not None
    fill(spec, podReplacementPolicy="Failed" if has_policy else "TerminatingOrFailed")


# --- validation -------------------------------------------------------------------------------------------


def errors(field: str, spec: Object) -> Errors:
    """Everything but the selector."""
    found: Errors = []
    for name in _NUMBERS:
        found += checks.not_negative(f"{field}.{name}", spec.get(name))
    if number(spec, "maxFailedIndexes") is not None and number(spec, "backoffLimitPerIndex") is None:
        found.append(required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    found += _managed_by(f"{field}.managedBy", spec.get("managedBy"))
    found += _completion(field, spec)
    found += _failure_policy(f"{field}.podFailurePolicy", spec)
    found += _success_policy(f"{field}.successPolicy", spec)
    found += _replacement(f"{field}.podReplacementPolicy", spec)
    found += podspecs.template_errors(f"{field}.template", spec.get("template"))
    return found + _restart_policy(f"{field}.template.spec.restartPolicy", spec)


def _managed_by(field: str, value: JSON) -> Errors:
    if value is None:
        return []
    if not value or not isinstance(value, str):
        return [required(field)]
    domain, _, path = value.partition("/")
    if not domain or not path:
        return [invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = checks.named(field, domain, names.dns_subdomain)
    return [*found, too_long(field, 63)] if len(value) > 63 else found


def _completion(field: str, spec: Object) -> Errors:
    mode = spec.get("completionMode")
    found = checks.one_of(f"{field}.completionMode", mode, ("NonIndexed", "Indexed"), optional=True)
    if mode == "Indexed":
        return found + _indexed(field, spec)
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if number(spec, name) is not None:
            found.append(invalid(f"{field}.{name}", spec[name], "requires indexed completion mode"))
    return found


def _indexed(field: str, spec: Object) -> Errors:
    found: Errors = []
    completions, failures = number(spec, "completions"), number(spec, "maxFailedIndexes")
    parallelism = number(spec, "parallelism") or 0
    if completions is None:
        found.append(required(f"{field}.completions", "when completion mode is Indexed"))
    if parallelism > _MOST_PODS:
        why = f"must be less than or equal to {_MOST_PODS} when completion mode is Indexed"
        found.append(invalid(f"{field}.parallelism", parallelism, why))
    if failures is not None and completions is not None and failures > completions:
        why = "must be less than or equal to completions"
        found.append(invalid(f"{field}.maxFailedIndexes", failures, why))
    if failures is not None and failures > _MOST_PODS:
        why = f"must be less than or equal to {_MOST_PODS}"
        found.append(invalid(f"{field}.maxFailedIndexes", failures, why))
    return found


def _replacement(field: str, spec: Object) -> Errors:
    has_policy = isinstance(spec.get("podFailurePolicy"), dict)
    allowed = ("Failed",) if has_policy else ("Failed", "TerminatingOrFailed")
    return checks.one_of(field, spec.get("podReplacementPolicy"), allowed, optional=True)


def _restart_policy(field: str, spec: Object) -> Errors:
    policy = text(spec, "template", "spec", "restartPolicy")
    if policy in ("Always", ""):
        return [required(field, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [unsupported(field, policy, ("OnFailure", "Never"))]
    if isinstance(spec.get("podFailurePolicy"), dict) and policy != "Never":
        return [invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


# --- policies ---------------------------------------------------------------------------------------------


def _failure_policy(field: str, spec: Object) -> Errors:
    rules = entries(spec, "podFailurePolicy", "rules")
    found = [too_many(f"{field}.rules", len(rules), _MOST_RULES)] if len(rules) > _MOST_RULES else []
    for index, rule in enumerate(rules):
        found += _failure_rule(f"{field}.rules[{index}]", rule, spec)
    return found


def _failure_rule(field: str, rule: Object, spec: Object) -> Errors:
    action, codes, conditions = (
        text(rule, "action"),
        rule.get("onExitCodes"),
        entries(rule, "onPodConditions"),
    )
    if not action:
        found = [required(f"{field}.action", 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]')]
    else:
        found = checks.one_of(f"{field}.action", action, _ACTIONS)
    if action == "FailIndex" and number(spec, "backoffLimitPerIndex") is None:
        found.append(invalid(f"{field}.action", action, "requires the backoffLimitPerIndex to be set"))
    if isinstance(codes, dict):
        found += _exit_codes(f"{field}.onExitCodes", codes, _container_names(spec))
    for index, pattern in enumerate(conditions):
        at = f"{field}.onPodConditions[{index}]"
        found += checks.qualified(f"{at}.type", pattern.get("type"))
        found += checks.one_of(f"{at}.status", pattern.get("status"), _STATUSES)
    if isinstance(codes, dict) == bool(conditions):
        both = "specifying both OnExitCodes and OnPodConditions is not supported"
        none = "specifying one of OnExitCodes and OnPodConditions is required"
        found.append(FieldError("FieldValueInvalid", field, f"Invalid value: {both if conditions else none}"))
    return found


def _container_names(spec: Object) -> set[str]:
    inner = mapping(spec, "template", "spec")
    return {text(item, "name") for name in ("containers", "initContainers") for item in entries(inner, name)}


def _exit_codes(field: str, codes: Object, known: set[str]) -> Errors:
    operator, name, values = text(codes, "operator"), codes.get("containerName"), sequence(codes, "values")
    if operator:
        found = checks.one_of(f"{field}.operator", operator, ("In", "NotIn"))
    else:
        found = [required(f"{field}.operator", 'valid values: ["In" "NotIn"]')]
    if name is not None and name not in known:
        why = "must be one of the container or initContainer names in the pod template"
        found.append(invalid(f"{field}.containerName", name, why))
    if not values:
        found.append(invalid(f"{field}.values", values, "at least one value is required"))
    if len(values) > _MOST_EXIT_CODES:
        found.append(too_many(f"{field}.values", len(values), _MOST_EXIT_CODES))
    return found + _code_values(f"{field}.values", operator, values)


def _code_values(field: str, operator: str, values: list[JSON]) -> Errors:
    found: Errors = []
    codes = [value for value in values if isinstance(value, int)]
    for index, code in enumerate(codes):
        if operator == "In" and code == 0:
            found.append(invalid(f"{field}[{index}]", code, "must not be 0 for the In operator"))
        if code in codes[:index]:
            found.append(duplicate(f"{field}[{index}]", code))
    if codes != sorted(codes):
        found.append(invalid(field, values, "must be ordered"))
    return found


def _success_policy(field: str, spec: Object) -> Errors:
    policy = spec.get("successPolicy")
    if not isinstance(policy, dict):
        return []
    if spec.get("completionMode") != "Indexed":
        return [invalid(field, policy, "requires indexed completion mode")]
    rules = entries(policy, "rules")
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        return [required(f"{field}.rules", why)]
    found = [too_many(f"{field}.rules", len(rules), _MOST_RULES)] if len(rules) > _MOST_RULES else []
    for index, rule in enumerate(rules):
        found += _success_rule(f"{field}.rules[{index}]", rule, number(spec, "completions") or 0)
    return found


def _success_rule(field: str, rule: Object, completions: int) -> Errors:
    count, indexes = number(rule, "succeededCount"), dig(rule, "succeededIndexes")
    if count is None and indexes is None:
        return [required(field, "at least one of succeededCount or succeededIndexes must be specified")]
    found = checks.not_negative(f"{field}.succeededCount", count)
    if count is not None and count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        found.append(invalid(f"{field}.succeededCount", count, why))
    return found
