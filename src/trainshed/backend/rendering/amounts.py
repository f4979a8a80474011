"""Resources of a node, from the ways in which bodies say them."""

from __future__ import annotations

from collections.abc import Mapping

from trainshed.backend.rendering import checks
from trainshed.backend.rendering.presets import GPU, resources
from trainshed.backend.rendering.unacceptable import Unacceptable
from trainshed.backend.rendering.wanted import Amounts, Resources
from trainshed.backend.settings import Preset
from trainshed.kube import quantities

Given = tuple[str, str | int | float | None]
"""A field, and what it says."""


def chosen(field: str, name: str, presets: Mapping[str, Preset]) -> Preset | None:
    if not name:
        return None
    if name not in presets:
        known = ", ".join(sorted(presets)) or "none"
        raise Unacceptable(field, f"there is no preset {checks.shown(name)}", f"there are: {known}")
    return presets[name]


def equal(cpu: Given, memory: Given, gpus: int | None) -> Resources:
    """One number each: requests are limits."""
    found = tuple(
        (name, amount)
        for name, given in (("cpu", cpu), ("memory", memory))
        if (amount := _checked(given)) is not None
    )
    found += _devices(gpus)
    return Resources(found, found)


def between(cpu: tuple[Given, Given], memory: tuple[Given, Given], gpus: int | None) -> Resources:
    """Requests and limits apart."""
    requests: Amounts = ()
    limits: Amounts = ()
    for name, (request, limit) in (("cpu", cpu), ("memory", memory)):
        least, most = _checked(request), _checked(limit)
        if least is not None and most is not None and quantities.compare(least, most) > 0:
            raise Unacceptable(request[0], f"must not be more than {limit[0]}, {checks.shown(most)}")
        requests += ((name, least),) if least is not None else ()
        limits += ((name, most),) if most is not None else ()
    return Resources(requests + _devices(gpus), limits + _devices(gpus))


def over(preset: Preset | None, given: Resources) -> Resources:
    """What is given, and the rest from a preset; a request above the preset's limit lifts that limit."""
    base = resources(preset) if preset else Resources()
    requests = {**dict(base.requests), **dict(given.requests)}
    limits = {**dict(base.limits), **dict(given.limits)}
    for name, most in limits.items():
        if name in requests and quantities.compare(requests[name], most) > 0:
            if name in dict(given.limits):
                requests[name] = most
            else:
                limits[name] = requests[name]
    return Resources(_without_none(requests), _without_none(limits))


def _without_none(found: dict[str, str]) -> Amounts:
    """No GPUs are not asked for: a cluster without them would not know the resource."""
    return tuple((name, amount) for name, amount in found.items() if not (name == GPU and amount == "0"))


def _checked(given: Given) -> str | None:
    field, value = given
    return None if value is None else checks.quantity(field, value)


def _devices(gpus: int | None) -> Amounts:
    return () if gpus is None else ((GPU, str(gpus)),)
