"""Endpoints."""

from __future__ import annotations

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import entries, fill, number
from trainshed.kube import names
from trainshed.kube.faults import required
from trainshed.kube.objects import Object


def defaults(endpoints: Object) -> None:
    tidy(endpoints, "Endpoints")
    for subset in entries(endpoints, "subsets"):
        for port in entries(subset, "ports"):
            fill(port, protocol="TCP")


def errors(endpoints: Object, old: Object | None) -> Errors:
    found: Errors = []
    for index, subset in enumerate(entries(endpoints, "subsets")):
        found += _subset(f"subsets[{index}]", subset)
    return found


def _subset(field: str, subset: Object) -> Errors:
    found: Errors = []
    if not entries(subset, "addresses") and not entries(subset, "notReadyAddresses"):
        found.append(required(field, "must specify `addresses` or `notReadyAddresses`"))
    for name in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(entries(subset, name)):
            found += _address(f"{field}.{name}[{index}]", address)
    ports = entries(subset, "ports")
    for index, port in enumerate(ports):
        found += _port(f"{field}.ports[{index}]", port, needs_name=len(ports) > 1)
    return found


def _address(field: str, address: Object) -> Errors:
    found = checks.ip(f"{field}.ip", address.get("ip"))
    found += checks.named(f"{field}.hostname", address.get("hostname"), names.dns_label, optional=True)
    found += checks.named(f"{field}.nodeName", address.get("nodeName"), names.dns_subdomain, optional=True)
    return found + checks.ordinary_ip(f"{field}.ip", address.get("ip"))


def _port(field: str, port: Object, *, needs_name: bool) -> Errors:
    found = checks.named(f"{field}.name", port.get("name"), names.dns_label, optional=not needs_name)
    found += checks.port(f"{field}.port", number(port, "port") or 0)
    return found + checks.one_of(f"{field}.protocol", port.get("protocol"), checks.PROTOCOLS)


RULES = Rules(defaults=defaults, validate=errors, has_generation=False)
