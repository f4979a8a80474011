"""Printers of services, endpoints, ingresses and network policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from trainshed.kinds.printing.printer import (
    AGE,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    Printer,
    age,
    column,
    entries,
    labels,
    name_of,
    number,
    selector,
    size,
    some,
    texts,
)
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import JSON, Object, dig, text


def _service(obj: Object, now: datetime) -> Sequence[JSON]:
    return (
        name_of(obj),
        text(obj, "spec", "type"),
        next(iter(texts(obj, "spec", "clusterIPs")), NONE),
        _external_address(obj),
        ",".join(_service_port(port) for port in entries(obj, "spec", "ports")) or NONE,
        age(obj, now),
        labels(mapping(obj, "spec", "selector")),
    )


def _external_address(obj: Object) -> str:
    own = texts(obj, "spec", "externalIPs")
    match text(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(own) or NONE
        case "LoadBalancer":
            return ",".join([*_balancer_addresses(obj), *own]) or "<pending>"
        case "ExternalName":
            return text(obj, "spec", "externalName")
    return "<unknown>"


def _balancer_addresses(obj: Object) -> list[str]:
    points = entries(obj, "status", "loadBalancer", "ingress")
    return sorted({text(point, "ip") or text(point, "hostname") for point in points} - {""})


def _service_port(port: Object) -> str:
    protocol, node_port = text(port, "protocol"), number(port, "nodePort")
    outer = f":{node_port}" if node_port > 0 else ""
    return f"{number(port, 'port')}{outer}/{protocol}"


def _endpoints(obj: Object, now: datetime) -> Sequence[JSON]:
    found = list(_addresses(obj))
    shown = some(found, len(found), 3) if size(obj, "subsets") else NONE
    return name_of(obj), shown, age(obj, now)


def _addresses(obj: Object) -> Iterator[str]:
    for subset in entries(obj, "subsets"):
        addresses = [text(item, "ip") for item in entries(subset, "addresses")]
        ports = [number(item, "port") for item in entries(subset, "ports")]
        if not ports:
            yield from addresses
        for port in ports:
            yield from (f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}" for ip in addresses)


def _endpoint_slice(obj: Object, now: datetime) -> Sequence[JSON]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in entries(obj, "ports")]
    found = [address for item in entries(obj, "endpoints") for address in texts(item, "addresses")]
    return (
        name_of(obj),
        text(obj, "addressType"),
        some(ports, len(ports), 3) or UNSET,
        some(found, len(found), 3) or UNSET,
        age(obj, now),
    )


def _ingress(obj: Object, now: datetime) -> Sequence[JSON]:
    rules = list(entries(obj, "spec", "rules"))
    return (
        name_of(obj),
        text(obj, "spec", "ingressClassName") or NONE,
        _hosts(rules),
        ",".join(_balancer_addresses(obj)),
        "80, 443" if size(obj, "spec", "tls") else "80",
        age(obj, now),
    )


def _hosts(rules: list[Object]) -> str:
    """At most three hosts; what follows the third counts as more, named or not."""
    found: list[str] = []
    for rule in rules:
        if len(found) == 3:
            return ",".join(found) + f" + {len(rules) - 3} more..."
        if host := text(rule, "host"):
            found.append(host)
    return ",".join(found) or "*"


def _ingress_class(obj: Object, now: datetime) -> Sequence[JSON]:
    reference = mapping(obj, "spec", "parameters")
    group = text(reference, "apiGroup")
    kind = text(reference, "kind") + (f".{group}" if group else "")
    shown = f"{kind}/{text(reference, 'name')}" if reference else NONE
    return name_of(obj), text(obj, "spec", "controller"), shown, age(obj, now)


def _network_policy(obj: Object, now: datetime) -> Sequence[JSON]:
    return name_of(obj), selector(dig(obj, "spec", "podSelector")), age(obj, now)


PRINTERS = {
    "services": Printer(
        (
            NAME,
            column("Type", "How the service is reachable."),
            column("Cluster-IP", "Address inside the cluster."),
            column("External-IP", "Addresses from outside."),
            column("Port(s)", "Ports, with the node port where there is one."),
            AGE,
            SELECTOR,
        ),
        _service,
    ),
    "endpoints": Printer((NAME, column("Endpoints", "Addresses behind the service."), AGE), _endpoints),
    "endpointslices.discovery.k8s.io": Printer(
        (
            NAME,
            column("AddressType", "Family of the addresses."),
            column("Ports", "Ports of the endpoints."),
            column("Endpoints", "Addresses of the endpoints."),
            AGE,
        ),
        _endpoint_slice,
    ),
    "ingresses.networking.k8s.io": Printer(
        (
            NAME,
            column("Class", "Ingress class that serves it."),
            column("Hosts", "Host names it answers to."),
            column("Address", "Where it is reachable."),
            column("Ports", "Ports that are open."),
            AGE,
        ),
        _ingress,
    ),
    "ingressclasses.networking.k8s.io": Printer(
        (
            NAME,
            column("Controller", "What serves ingresses of this class."),
            column("Parameters", "Object with further settings."),
            AGE,
        ),
        _ingress_class,
    ),
    "networkpolicies.networking.k8s.io": Printer(
        (NAME, column("Pod-Selector", "Pods the policy is for."), AGE), _network_policy
    ),
}
