"""What services are given, and what no two of them may have: cluster addresses and node ports.

Looked up in what is queued, too: services written in the same turn get different ones.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from trainshed.apiserver.admission import Check, Request
from trainshed.kinds.core import services
from trainshed.kinds.reading import entries, mapping, number, texts
from trainshed.kube import faults
from trainshed.kube.objects import Object, decode, text

RESOURCE = "services"
ADDRESSES = ipaddress.ip_network("10.96.0.0/12")
FAMILY = "IPv4"
_TRIES = 64


def is_furnished(request: Request) -> None:
    """A new service, or one of another type now, gets what it did not ask for by number."""
    spec = request.obj.get("spec")
    if not isinstance(spec, dict):
        return
    if services.needs_cluster_ip(request.obj) and not spec.get("clusterIP"):
        services.set_cluster_ip(request.obj, _free_address(request))
    if services.needs_node_ports(request.obj):
        _give_node_ports(request, entries(spec, "ports"))


def _free_address(request: Request) -> str:
    taken = {address for other in _others(request) for address in texts(other, "spec", "clusterIPs")}
    for _ in range(_TRIES):
        # The first addresses are left to those who ask for one by number.
        host = request.state.random.randrange(256, 2**16 - 1)
        address = str(ADDRESSES[host])
        if address not in taken:
            return address
    raise faults.InternalError("Internal error occurred: failed to allocate a serviceIP: range is full")


def _give_node_ports(request: Request, ports: list[Object]) -> None:
    """Ports that differ only in their protocol share one."""
    if all(port.get("nodePort") for port in ports):
        return
    given = {number(port, "port"): port["nodePort"] for port in ports if number(port, "nodePort")}
    taken = {*_node_ports(request), *given.values()}
    for port in ports:
        if not port.get("nodePort"):
            outer = given.get(number(port, "port")) or _free_node_port(request, taken)
            port["nodePort"] = given[number(port, "port")] = outer
            taken.add(outer)


def _free_node_port(request: Request, taken: set[int]) -> int:
    free = [port for port in services.NODE_PORTS if port not in taken]
    if not free:
        raise faults.InternalError("Internal error occurred: failed to allocate a nodePort: range is full")
    return request.state.random.choice(free)


# --- collisions -------------------------------------------------------------------------------------------


def has_known_families(request: Request) -> None:
    """Addresses are of one family here; a service that names its endpoints itself may speak of any."""
    errors = [*_family_errors(request)]
    if errors:
        raise faults.refuse("Service", "", request.name, errors)


def _family_errors(request: Request) -> Iterator[faults.FieldError]:
    spec, before = mapping(request.obj, "spec"), mapping(request.old, "spec")
    if services.may_have_any_family(request.obj):
        return
    policy = text(spec, "ipFamilyPolicy")
    if policy == "RequireDualStack" and policy != text(before, "ipFamilyPolicy"):
        why = "this cluster is not configured for dual-stack services"
        yield faults.invalid("spec.ipFamilyPolicy", policy, why)
    kept = texts(before, "ipFamilies")
    for index, family in enumerate(texts(spec, "ipFamilies")):
        if family not in (FAMILY, *kept) and not _follows_an_address(spec, index):
            yield faults.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")


def _follows_an_address(spec: Object, index: int) -> bool:
    """Whether a family was read off an address that was asked for: that is refused by itself."""
    return any(":" in address for address in texts(spec, "clusterIPs")[index : index + 1])


def takes_nothing_of_others(request: Request) -> None:
    errors = [*_address_errors(request), *_port_errors(request)]
    if errors:
        raise faults.refuse("Service", "", request.name, errors)


def _address_errors(request: Request) -> Iterator[faults.FieldError]:
    listed = texts(request.obj, "spec", "clusterIPs")
    kept = texts(request.old, "spec", "clusterIPs")
    asked = [address for address in listed if address != services.HEADLESS and address not in kept]
    if not asked:
        return
    taken = {address for other in _others(request) for address in texts(other, "spec", "clusterIPs")}
    for address in asked:
        if why := _refusal(address, taken):
            yield faults.invalid("spec.clusterIPs", listed, f"failed to allocate IP {address}: {why}")


def _refusal(address: str, taken: set[str]) -> str:
    if ipaddress.ip_address(address) not in ADDRESSES:
        where = f"The range of valid IPs is {ADDRESSES}"
        return f"the provided IP ({address}) is not in the valid range. {where}"
    return "provided IP is already allocated" if address in taken else ""


def _port_errors(request: Request) -> Iterator[faults.FieldError]:
    asked = {
        index: outer
        for index, port in enumerate(entries(request.obj, "spec", "ports"))
        if (outer := number(port, "nodePort"))
    }
    kept = {number(port, "nodePort") for port in entries(request.old, "spec", "ports")}
    if not kept.issuperset(asked.values()):
        taken = _node_ports(request) - kept
        for index, outer in asked.items():
            if outer in taken:
                yield faults.invalid(
                    f"spec.ports[{index}].nodePort", outer, "provided port is already allocated"
                )


def _node_ports(request: Request) -> set[int]:
    return {
        outer
        for other in _others(request)
        for port in entries(other, "spec", "ports")
        if (outer := number(port, "nodePort"))
    }


def _others(request: Request) -> Iterator[Object]:
    for record in request.state.store.heads(RESOURCE, None):
        if (record.key.namespace, record.key.name) != (request.namespace, request.name):
            yield decode(record.value)


CHECKS: dict[str, tuple[Check, ...]] = {RESOURCE: (is_furnished,)}
VERDICTS: dict[str, tuple[Check, ...]] = {RESOURCE: (has_known_families, takes_nothing_of_others)}
