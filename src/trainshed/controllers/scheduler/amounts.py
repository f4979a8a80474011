"""Amounts of resources: what pods request, what nodes have. Whole numbers; cpu in thousandths."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from decimal import Decimal

from trainshed.kinds.core import requests
from trainshed.kinds.reading import mapping
from trainshed.kube import quantities
from trainshed.kube.objects import JSON, Object

Amounts = dict[str, int]

CPU, PODS = "cpu", "pods"
_BYTES = ("memory", "ephemeral-storage")


def of_pod(spec: Object) -> Amounts:
    """What a pod takes: its containers and sidecars, or what starting takes where that is more; overhead."""
    nothing: Amounts = {}
    running = requests.of_pod(spec, nothing, _of_container, _sum, _larger)
    # Amounts for the pod as a whole stand for those of its containers.
    running.update(_read(mapping(spec, "resources", "requests")))
    add(running, _read(mapping(spec, "overhead")))
    return {PODS: 1, **{name: amount for name, amount in running.items() if amount > 0}}


def of_node(node: Object) -> Amounts:
    return _read(mapping(node, "status", "allocatable") or mapping(node, "status", "capacity"))


def add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def subtract(total: Amounts, less: Mapping[str, int]) -> None:
    for name, amount in less.items():
        total[name] = total.get(name, 0) - amount


def total(many: Iterable[Mapping[str, int]]) -> Amounts:
    found: Amounts = {}
    for one in many:
        add(found, one)
    return found


def times(one: Mapping[str, int], count: int) -> Amounts:
    return {name: amount * count for name, amount in one.items()}


def written(name: str, amount: int) -> str:
    """An amount for people: `500m`, `2`, `16Gi`."""
    if name == CPU:
        return quantities.format(Decimal(amount) / 1000)
    if name in _BYTES:
        return _size(amount)
    return str(amount)


def _size(amount: int) -> str:
    """To a tenth of the unit that fits: nobody reads the bytes of a machine's memory."""
    for power, unit in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if amount >= 1 << power:
            return f"{round(amount / (1 << power), 1):g}{unit}"
    return str(amount)


def _of_container(container: Object) -> Amounts:
    resources = mapping(container, "resources")
    return _read({**mapping(resources, "limits"), **mapping(resources, "requests")})


def _read(found: Mapping[str, JSON]) -> Amounts:
    return {name: _amount(name == CPU, str(value)) for name, value in found.items()}


@functools.lru_cache(4096)
def _amount(is_cpu: bool, value: str) -> int:
    try:
        return max(0, quantities.milli(value) if is_cpu else quantities.whole(value))
    except ValueError:
        return 0


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
