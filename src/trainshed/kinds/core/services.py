"""Services. Addresses and ports are handed out elsewhere; `needs_…` say who waits for some."""

from __future__ import annotations

from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.canonical import tidy
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, entries, fill, mapping, number, sequence, texts
from trainshed.kube import names
from trainshed.kube.faults import duplicate, forbidden, invalid, required
from trainshed.kube.objects import Object, dig, text

HEADLESS: Final = "None"
NODE_PORTS: Final = range(30000, 32768)
_OUTSIDE: Final = "provided port is not in the valid range. The range of valid ports is 30000-32767"
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_MOST_AFFINITY: Final = 86400


def needs_cluster_ip(service: Object) -> bool:
    """A service that should have an address of its own and has none yet."""
    spec = mapping(service, "spec")
    return text(spec, "type") in ("ClusterIP", "NodePort", "LoadBalancer") and not text(spec, "clusterIP")


def set_cluster_ip(service: Object, address: str) -> None:
    """Write the address where clients look for it, in its older and its newer place."""
    spec = child(service, "spec")
    spec["clusterIP"], spec["clusterIPs"] = address, [address]


def needs_node_ports(service: Object) -> bool:
    spec = mapping(service, "spec")
    if text(spec, "type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return text(spec, "type") == "NodePort"


def is_headless(service: Object) -> bool:
    return (
        texts(service, "spec", "clusterIPs") == [HEADLESS] or text(service, "spec", "clusterIP") == HEADLESS
    )


def may_have_any_family(service: Object) -> bool:
    """A service that is given no address and finds no pods: what is behind it is anybody's word."""
    if text(service, "spec", "type") == "ExternalName":
        return True
    return is_headless(service) and not mapping(service, "spec", "selector")


def _is_open(spec: Object) -> bool:
    """Whether others than pods may reach it."""
    return text(spec, "type") in ("NodePort", "LoadBalancer") or bool(sequence(spec, "externalIPs"))


# --- defaults ---------------------------------------------------------------------------------------------


def defaults(service: Object) -> None:
    tidy(service, "Service")
    spec = child(service, "spec")
    fill(spec, sessionAffinity="None", type="ClusterIP")
    _default_affinity(spec)
    for port in entries(spec, "ports"):
        fill(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, "") and number(port, "port") is not None:
            port["targetPort"] = port["port"]
    if _is_open(spec):
        fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)


def _default_affinity(spec: Object) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and dig(spec, "sessionAffinityConfig", "clientIP") is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}


def prepare(service: Object) -> None:
    service["status"] = {"loadBalancer": {}}
    _settle_addresses(child(service, "spec"))


def keep(service: Object, old: Object) -> None:
    """An update that leaves out what was handed out keeps it; a change of type lets go of what it ends."""
    spec, before = child(service, "spec"), mapping(old, "spec")
    if text(spec, "type") != "ExternalName" and text(before, "type") != "ExternalName":
        if not text(spec, "clusterIP") and not sequence(spec, "clusterIPs"):
            _carry(spec, before, "clusterIP", "clusterIPs")
        elif spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") == before.get(
            "clusterIPs"
        ):
            spec.pop("clusterIPs", None)  # the writer changed the older field only
        _carry(spec, before, "ipFamilies", "ipFamilyPolicy")
    elif text(spec, "type") == "ExternalName":
        _release(spec, before, "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    _carry_node_ports(service, old)
    if not _is_open(spec):
        _release(spec, before, "externalTrafficPolicy")
    if text(spec, "type") != "LoadBalancer":
        _release(spec, before, "allocateLoadBalancerNodePorts")
    _settle_addresses(spec)


def _carry(spec: Object, before: Object, *fields: str) -> None:
    for name in fields:
        if spec.get(name) in (None, "", []) and before.get(name):
            spec[name] = before[name]


def _release(spec: Object, before: Object, *fields: str) -> None:
    for name in fields:
        if name in spec and spec[name] == before.get(name):
            del spec[name]


def _carry_node_ports(service: Object, old: Object) -> None:
    taken = {_port_key(port): port.get("nodePort") for port in entries(old, "spec", "ports")}
    for port in entries(service, "spec", "ports"):
        before = taken.get(_port_key(port))
        if needs_node_ports(service) and needs_node_ports(old) and before and not port.get("nodePort"):
            port["nodePort"] = before
        elif not needs_node_ports(service) and needs_node_ports(old) and port.get("nodePort") == before:
            port.pop("nodePort", None)


def _port_key(port: Object) -> tuple[str, int]:
    return text(port, "protocol"), number(port, "port") or 0


def _settle_addresses(spec: Object) -> None:
    if text(spec, "type") == "ExternalName":
        return
    listed = texts(spec, "clusterIPs")
    if text(spec, "clusterIP") and not listed:
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif listed and not text(spec, "clusterIP"):
        spec["clusterIP"] = listed[0]
    fill(
        spec, ipFamilies=["IPv6" if ":" in text(spec, "clusterIP") else "IPv4"], ipFamilyPolicy="SingleStack"
    )


# --- validation -------------------------------------------------------------------------------------------


def errors(service: Object, old: Object | None) -> Errors:
    spec = mapping(service, "spec")
    found = _address_changes(service, old) if old is not None else []
    if not sequence(spec, "ports") and not is_headless(service) and text(spec, "type") != "ExternalName":
        found.append(required("spec.ports"))
    found += _by_type(service, spec)
    found += _ports(spec) + checks.labels("spec.selector", spec.get("selector"))
    found += _affinity(spec)
    if text(spec, "type") != "ExternalName":
        found += _addresses(spec)
    for index, address in enumerate(sequence(spec, "externalIPs")):
        field = f"spec.externalIPs[{index}]"
        found += checks.ip(field, address) or checks.ordinary_ip(field, address)
    found += checks.one_of("spec.type", spec.get("type"), _TYPES)
    return found + _traffic(spec)


def _by_type(service: Object, spec: Object) -> Errors:
    kind = text(spec, "type")
    if kind in ("LoadBalancer", "NodePort") and is_headless(service):
        why = f"may not be set to 'None' for {kind} services"
        return [invalid("spec.clusterIPs[0]", HEADLESS, why)]
    if kind != "ExternalName":
        return []
    why = "may not be set for ExternalName services"
    found = [forbidden(f"spec.{name}", why) for name in ("clusterIPs", "ipFamilies") if sequence(spec, name)]
    if spec.get("ipFamilyPolicy") is not None:
        found.append(forbidden("spec.ipFamilyPolicy", why))
    name = text(spec, "externalName").removesuffix(".")
    return found + checks.named("spec.externalName", name, names.dns_subdomain)


def _ports(spec: Object) -> Errors:
    found: Errors = []
    ports = entries(spec, "ports")
    taken: dict[str, set[object]] = {"name": set(), "nodePort": set(), "port": set()}
    for index, port in enumerate(ports):
        field = f"spec.ports[{index}]"
        found += _port(field, port, needs_name=len(ports) > 1)
        found += _repeated(field, port, taken)
        if text(spec, "type") == "ClusterIP" and port.get("nodePort"):
            found.append(forbidden(f"{field}.nodePort", "may not be used when `type` is 'ClusterIP'"))
        elif port.get("nodePort") and number(port, "nodePort") not in NODE_PORTS:
            found.append(invalid(f"{field}.nodePort", port["nodePort"], _OUTSIDE))
    return found


def _port(field: str, port: Object, *, needs_name: bool) -> Errors:
    found = checks.named(f"{field}.name", port.get("name"), names.dns_label, optional=not needs_name)
    found += checks.port(f"{field}.port", number(port, "port") or 0)
    found += checks.one_of(f"{field}.protocol", port.get("protocol"), checks.PROTOCOLS)
    found += checks.port_or_name(f"{field}.targetPort", port.get("targetPort"))
    if port.get("appProtocol") is not None:
        found += checks.qualified(f"{field}.appProtocol", port["appProtocol"])
    return found


def _repeated(field: str, port: Object, taken: dict[str, set[object]]) -> Errors:
    found: Errors = []
    protocol, name, outer = text(port, "protocol"), text(port, "name"), port.get("nodePort")
    for kind, key, error in (
        ("name", name, duplicate(f"{field}.name", name)),
        (
            "nodePort",
            (protocol, number(port, "nodePort")) if outer else "",
            duplicate(f"{field}.nodePort", outer),
        ),
        ("port", _port_key(port), duplicate(field, {"protocol": protocol, "port": port.get("port")})),
    ):
        if key and key in taken[kind]:
            found.append(error)
        taken[kind].add(key)
    return found


def _affinity(spec: Object) -> Errors:
    found = checks.one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    seconds = dig(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if spec.get("sessionAffinity") == "ClientIP" and not 0 < (number(seconds) or 0) <= _MOST_AFFINITY:
        field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        found.append(invalid(field, seconds, f"must be greater than 0 and less than {_MOST_AFFINITY}"))
    return found


def _addresses(spec: Object) -> Errors:
    found: Errors = []
    first, listed, field = text(spec, "clusterIP"), texts(spec, "clusterIPs"), "spec.clusterIPs"
    if first and listed and listed[0] != first:
        found.append(invalid(field, listed, "first value must match `clusterIP`"))
    families: set[str] = set()
    for index, family in enumerate(texts(spec, "ipFamilies")):
        found += checks.one_of(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        if family in families:
            found.append(duplicate(f"spec.ipFamilies[{index}]", family))
        families.add(family)
    found += checks.one_of("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), _POLICIES, optional=True)
    if HEADLESS in listed and len(listed) > 1:
        found.append(invalid(field, listed, "'None' must be the first and only value"))
    for index, address in enumerate(listed):
        found += [] if address == HEADLESS else checks.ip(f"{field}[{index}]", address)
    if len(listed) > 2:
        found.append(invalid(field, listed, "may only hold up to 2 values"))
    return found


def _traffic(spec: Object) -> Errors:
    policies = ("Cluster", "Local")
    found: Errors = []
    outer = spec.get("externalTrafficPolicy")
    if _is_open(spec):
        found += checks.one_of("spec.externalTrafficPolicy", outer, policies)
    elif outer:
        why = "may only be set for externally-accessible services"
        found.append(invalid("spec.externalTrafficPolicy", outer, why))
    inner = spec.get("internalTrafficPolicy")
    found += checks.one_of("spec.internalTrafficPolicy", inner, policies, optional=True)
    if spec.get("allocateLoadBalancerNodePorts") is not None and text(spec, "type") != "LoadBalancer":
        why = "may only be used when `type` is 'LoadBalancer'"
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", why))
    return found


def _address_changes(service: Object, old: Object) -> Errors:
    if "ExternalName" in (text(service, "spec", "type"), text(old, "spec", "type")):
        return []
    new, before = texts(service, "spec", "clusterIPs"), texts(old, "spec", "clusterIPs")
    if before and not new:
        return [invalid("spec.clusterIPs[0]", new, "primary clusterIP can not be unset")]
    return [
        invalid(f"spec.clusterIPs[{index}]", new, "may not change once set")
        for index, (address, earlier) in enumerate(zip(new, before, strict=False))
        if address != earlier
    ]


RULES = Rules(
    defaults=defaults, on_create=prepare, on_update=keep, validate=errors, check_name=names.rfc1035_label,
    always_returns_object_on_delete=True, has_generation=False,
)  # fmt: skip
