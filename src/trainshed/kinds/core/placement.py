"""Where a pod may run: taints and tolerations, affinities, spreading, gates."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.reading import entries, mapping, number, sequence, texts
from trainshed.kube import names
from trainshed.kube.faults import duplicate, forbidden, invalid, required
from trainshed.kube.objects import JSON, Object, dig, text

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED_TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_TERMS: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ONLY_ADDED: Final = "existing toleration can not be modified except its tolerationSeconds"


def errors(field: str, spec: JSON) -> Errors:
    """The placement fields of a pod spec whose path is `field`."""
    found = checks.labels(f"{field}.nodeSelector", dig(spec, "nodeSelector"))
    found += _affinity(f"{field}.affinity", dig(spec, "affinity"))
    found += _gates(f"{field}.schedulingGates", spec)
    found += _spreading(f"{field}.topologySpreadConstraints", spec)
    return found + toleration_errors(f"{field}.tolerations", spec)


# --- tolerations and gates --------------------------------------------------------------------------------


def toleration_errors(field: str, spec: JSON) -> Errors:
    found: Errors = []
    for index, toleration in enumerate(entries(spec, "tolerations")):
        found += _toleration(f"{field}[{index}]", toleration)
    return found


def _toleration(field: str, toleration: Object) -> Errors:
    key, operator, effect = (text(toleration, name) for name in ("key", "operator", "effect"))
    found = checks.qualified(f"{field}.key", key) if key else []
    if not key and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        found.append(invalid(f"{field}.operator", operator, why))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        found.append(invalid(f"{field}.effect", effect, why))
    found += _toleration_value(f"{field}.operator", operator, text(toleration, "value"))
    return found + checks.one_of(f"{field}.effect", effect, EFFECTS, optional=True)


def _toleration_value(field: str, operator: str, value: str) -> Errors:
    if operator in ("Equal", ""):
        return checks.label_value(field, value)
    if operator == "Exists":
        why = "value must be empty when `operator` is 'Exists'"
        return [invalid(field, value, why)] if value else []
    return checks.one_of(field, operator, ("Equal", "Exists"))


def only_added_tolerations(field: str, new: JSON, old: JSON) -> Errors:
    """Tolerations of a living pod may be added, not taken away; how long they last may change."""
    kept = [_lasting(toleration) for toleration in entries(new, "tolerations")]
    if all(_lasting(toleration) in kept for toleration in entries(old, "tolerations")):
        return []
    return [forbidden(field, _ONLY_ADDED)]


def _lasting(toleration: Object) -> Object:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds" and value}


def only_removed_gates(field: str, new: JSON, old: JSON) -> Errors:
    before = {text(gate, "name") for gate in entries(old, "schedulingGates")}
    return [
        forbidden(
            f"{field}[{index}].name", f"only deletion is allowed, but found new scheduling gate '{name}'"
        )
        for index, gate in enumerate(entries(new, "schedulingGates"))
        if (name := text(gate, "name")) not in before
    ]


def _gates(field: str, spec: JSON) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, gate in enumerate(entries(spec, "schedulingGates")):
        name = text(gate, "name")
        found += checks.qualified(f"{field}[{index}]", name)
        if name in seen:
            found.append(duplicate(f"{field}[{index}]", name))
        seen.add(name)
    return found


# --- affinity ---------------------------------------------------------------------------------------------


def _affinity(field: str, affinity: JSON) -> Errors:
    found = _node_affinity(f"{field}.nodeAffinity", mapping(affinity, "nodeAffinity"))
    for name in ("podAffinity", "podAntiAffinity"):
        found += _pod_affinity(f"{field}.{name}", mapping(affinity, name))
    return found


def _node_affinity(field: str, affinity: Object) -> Errors:
    found: Errors = []
    if isinstance(affinity.get(_REQUIRED_TERMS), dict):
        at, terms = f"{field}.{_REQUIRED_TERMS}.nodeSelectorTerms", affinity[_REQUIRED_TERMS]
        listed = entries(terms, "nodeSelectorTerms")
        found += [] if listed else [required(at, "must have at least one node selector term")]
        for index, term in enumerate(listed):
            found += _node_term(f"{at}[{index}]", term, strict=True)
    for index, preferred in enumerate(entries(affinity, _PREFERRED_TERMS)):
        at = f"{field}.{_PREFERRED_TERMS}[{index}]"
        found += _weight(at, preferred)
        found += _node_term(f"{at}.preference", mapping(preferred, "preference"), strict=False)
    return found


def _weight(field: str, term: Object) -> Errors:
    weight = number(term, "weight") or 0
    return [] if 1 <= weight <= 100 else [invalid(f"{field}.weight", weight, "must be in the range 1-100")]


def _node_term(field: str, term: Object, *, strict: bool) -> Errors:
    found: Errors = []
    for index, requirement in enumerate(entries(term, "matchExpressions")):
        found += _node_requirement(f"{field}.matchExpressions[{index}]", requirement, strict=strict)
    for index, requirement in enumerate(entries(term, "matchFields")):
        found += _node_field(f"{field}.matchFields[{index}]", requirement)
    return found


def _node_requirement(field: str, requirement: Object, *, strict: bool) -> Errors:
    operator, values = text(requirement, "operator"), sequence(requirement, "values")
    found = checks.operator_values(field, requirement)
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(required(f"{field}.values", why))
    elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        found.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    found += checks.qualified(f"{field}.key", requirement.get("key"))
    for index, value in enumerate(values if strict else []):
        found += checks.label_value(f"{field}.values[{index}]", value)
    return found


def _node_field(field: str, requirement: Object) -> Errors:
    key, operator = text(requirement, "key"), text(requirement, "operator")
    found: Errors = []
    if operator not in ("In", "NotIn"):
        found.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    elif len(sequence(requirement, "values")) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(required(f"{field}.values", why))
    if key != "metadata.name":
        found.append(invalid(f"{field}.key", key, "not a valid field selector key"))
    return found


def _pod_affinity(field: str, affinity: Object) -> Errors:
    found: Errors = []
    for index, term in enumerate(entries(affinity, _REQUIRED_TERMS)):
        found += _pod_term(f"{field}.{_REQUIRED_TERMS}[{index}]", term)
    for index, weighted in enumerate(entries(affinity, _PREFERRED_TERMS)):
        at = f"{field}.{_PREFERRED_TERMS}[{index}]"
        found += _weight(at, weighted)
        found += _pod_term(f"{at}.podAffinityTerm", mapping(weighted, "podAffinityTerm"))
    return found


def _pod_term(field: str, term: Object) -> Errors:
    found = checks.label_selector(f"{field}.labelSelector", term.get("labelSelector"))
    found += checks.label_selector(f"{field}.namespaceSelector", term.get("namespaceSelector"))
    for name in texts(term, "namespaces"):
        found += checks.named(f"{field}.namespace", name, names.dns_label)
    if not text(term, "topologyKey"):
        found.append(required(f"{field}.topologyKey", "can not be empty"))
    return found + checks.qualified(f"{field}.topologyKey", term.get("topologyKey"))


# --- spreading --------------------------------------------------------------------------------------------


def _spreading(field: str, spec: JSON) -> Errors:
    found: Errors = []
    constraints = entries(spec, "topologySpreadConstraints")
    pairs = [(text(item, "topologyKey"), text(item, "whenUnsatisfiable")) for item in constraints]
    for index, constraint in enumerate(constraints):
        found += _constraint(f"{field}[{index}]", constraint)
        if pairs[index] in pairs[index + 1 :]:
            shown = "{" + ", ".join(pairs[index]) + "}"
            found.append(duplicate(f"{field}[{index}].{{topologyKey, whenUnsatisfiable}}", shown))
    return found


def _constraint(field: str, constraint: Object) -> Errors:
    found: Errors = []
    if (skew := number(constraint, "maxSkew") or 0) <= 0:
        found.append(invalid(f"{field}.maxSkew", skew, "must be greater than zero"))
    if not text(constraint, "topologyKey"):
        found.append(required(f"{field}.topologyKey", "can not be empty"))
    action = text(constraint, "whenUnsatisfiable")
    found += checks.one_of(f"{field}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
    domains = number(constraint, "minDomains")
    if domains is not None and domains <= 0:
        found.append(invalid(f"{field}.minDomains", domains, "must be greater than zero"))
    if domains is not None and action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        found.append(invalid(f"{field}.minDomains", domains, why))
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        found += checks.one_of(f"{field}.{name}", constraint.get(name), ("Honor", "Ignore"), optional=True)
    return found + checks.label_selector(f"{field}.labelSelector", constraint.get("labelSelector"))
