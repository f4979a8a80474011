"""Nodes."""

from __future__ import annotations

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.core import placement, resources
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import entries, mapping, sequence
from trainshed.kube.faults import FieldError, duplicate, forbidden
from trainshed.kube.objects import Object, copied, dig, text


def defaults(node: Object) -> None:
    tidy(node, "Node")
    status = mapping(node, "status")
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = copied(status["capacity"])


def errors(node: Object, old: Object | None) -> Errors:
    found = _taints(node) + amount_errors(node)
    if old is None:
        for index, value in enumerate(sequence(node, "spec", "podCIDRs")):
            found += checks.cidr(f"spec.podCIDRs[{index}]", value)
        return found
    return found + _addresses(node) + _changes(node, old)


def status_errors(node: Object, old: Object) -> Errors:
    return amount_errors(node) + _addresses(node)


def _taints(node: Object) -> Errors:
    found: Errors = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(entries(node, "spec", "taints")):
        field = f"metadata.taints[{index}]"  # upstream's path, though the taints are in the spec
        found += checks.qualified(f"{field}.key", taint.get("key"))
        found += checks.label_value(f"{field}.value", text(taint, "value"))
        found += checks.one_of(f"{field}.effect", taint.get("effect"), placement.EFFECTS)
        key = (text(taint, "effect"), text(taint, "key"))
        if key in seen:
            error = duplicate(field, taint)
            why = f"{error.text}: taints must be unique by key and effect pair"
            found.append(FieldError(error.reason, field, why))
        seen.add(key)
    return found


def amount_errors(node: Object) -> Errors:
    found: Errors = []
    for part in ("capacity", "allocatable"):
        for name, value in mapping(node, "status", part).items():
            found += resources.amount_errors(f"status.{part}.{name}", name, value)
    return found


def _addresses(node: Object) -> Errors:
    found, seen = [], set()
    for index, address in enumerate(entries(node, "status", "addresses")):
        key = (text(address, "type"), text(address, "address"))
        if key in seen:
            found.append(duplicate(f"status.addresses[{index}]", address))
        seen.add(key)
    return found


def _changes(node: Object, old: Object) -> Errors:
    found: Errors = []
    blocks = sequence(old, "spec", "podCIDRs")
    if blocks and sequence(node, "spec", "podCIDRs") != blocks:
        why = 'node updates may not change podCIDR except from "" to valid'
        found.append(forbidden("spec.podCIDRs", why))
    provider = text(old, "spec", "providerID")
    if provider and dig(node, "spec", "providerID") != provider:
        why = 'node updates may not change providerID except from "" to valid'
        found.append(forbidden("spec.providerID", why))
    return found


RULES = Rules(defaults=defaults, validate=errors, validate_status=status_errors, has_generation=False)
