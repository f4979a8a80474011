"""IP addresses and networks in rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from typing import Final

from trainshed.kube.cel.amounts import succeeds
from trainshed.kube.cel.texts import text
from trainshed.kube.cel.values import NO_OVERLOAD, EvaluationError
from trainshed.kube.objects import JSON

IP = IPv4Address | IPv6Address


def _ip(value: JSON) -> IP:
    try:
        return ip_address(text(value))
    except ValueError:
        raise EvaluationError(f'IP Address "{value}" parse error during conversion from string') from None


def _cidr(value: JSON) -> JSON:
    try:
        if "/" not in text(value):
            raise ValueError
        return ip_interface(value)
    except ValueError:
        words = "network address parse error during conversion from string"
        raise EvaluationError(f'{words}: "{value}"') from None


def _address(value: JSON) -> IP:
    if not isinstance(value, IPv4Address | IPv6Address):
        raise EvaluationError(NO_OVERLOAD)
    return value


def _network(value: JSON) -> JSON:
    network = getattr(value, "network", None)
    if network is None:
        raise EvaluationError(NO_OVERLOAD)
    return network


def _contains_ip(value: JSON, other: JSON) -> bool:
    address = _address(_ip(other) if isinstance(other, str) else other)
    return bool(address.version == _network(value).version and address in _network(value))


def _contains_cidr(value: JSON, other: JSON) -> bool:
    inner = _network(_cidr(other) if isinstance(other, str) else other)
    return bool(inner.version == _network(value).version and inner.subnet_of(_network(value)))


def _is_canonical(value: JSON) -> bool:
    return str(_ip(value)) == text(value)


GLOBALS: Final[Mapping[str, Callable[..., JSON]]] = {
    "ip": _ip,
    "isIP": succeeds(_ip),
    "ip.isCanonical": _is_canonical,
    "cidr": _cidr,
    "isCIDR": succeeds(_cidr),
}
METHODS: Final[Mapping[str, Callable[..., JSON]]] = {
    "family": lambda value: _address(value).version,
    "isUnspecified": lambda value: _address(value).is_unspecified,
    "isLoopback": lambda value: _address(value).is_loopback,
    "isLinkLocalUnicast": lambda value: _address(value).is_link_local,
    "isLinkLocalMulticast": lambda value: str(_address(value)).startswith(("224.0.0.", "ff02:")),
    "isGlobalUnicast": lambda value: (
        not (_address(value).is_multicast or value.is_loopback or value.is_link_local or value.is_unspecified)
    ),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda value: _network(value).prefixlen,
    "masked": lambda value: _cidr(str(_network(value))),
    "ip": lambda value: _network(value) and value.ip,
}
