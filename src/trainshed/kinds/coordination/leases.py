"""Leases."""

from __future__ import annotations

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import mapping, number
from trainshed.kube.faults import forbidden, invalid, unsupported
from trainshed.kube.objects import Object, text


def defaults(lease: Object) -> None:
    tidy(lease, "Lease")


def errors(lease: Object, old: Object | None) -> Errors:
    spec = mapping(lease, "spec")
    found: Errors = []
    seconds, strategy = number(spec, "leaseDurationSeconds"), text(spec, "strategy")
    if seconds is not None and seconds <= 0:
        found.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    found += checks.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    if "/" in strategy:
        found += checks.qualified("spec.strategy.strategy", strategy)
    elif strategy and strategy != "OldestEmulationVersion":
        found.append(unsupported("spec.strategy.strategy", strategy, ("OldestEmulationVersion",)))
    if text(spec, "preferredHolder") and not strategy:
        why = "may only be specified if `strategy` is defined"
        found.append(forbidden("spec.preferredHolder", why))
    return found


RULES = Rules(defaults=defaults, validate=errors, has_generation=False)
