"""What a pod requests and is limited to as a whole, as canonical quantities by resource name; pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from trainshed.kinds.core import requests as sums
from trainshed.kinds.reading import mapping
from trainshed.kube import quantities
from trainshed.kube.objects import Object

Amounts = dict[str, str]

_OF_PODS = ("cpu", "memory")
"""What may also be said for a pod as a whole; it counts instead of what its containers say."""


def requests(spec: Object, overhead: bool = True) -> Amounts:
    found = _said(spec, "requests")
    return _sum(found, _read(mapping(spec, "overhead"))) if overhead else found


def limits(spec: Object, overhead: bool = True) -> Amounts:
    """Overhead counts only where there is a limit at all: none is not a little."""
    found = _said(spec, "limits")
    extra = _read(mapping(spec, "overhead")) if overhead else {}
    return _sum(found, {name: amount for name, amount in extra.items() if name in found})


def _said(spec: Object, part: str) -> Amounts:
    nothing: Amounts = {}
    found = sums.of_pod(spec, nothing, lambda one: _read(mapping(one, "resources", part)), _sum, _larger)
    whole = _read(mapping(spec, "resources", part))
    return found | {name: amount for name, amount in whole.items() if name in _OF_PODS}


def _read(amounts: Object) -> Amounts:
    return {name: str(value) for name, value in amounts.items() if _is_quantity(str(value))}


@lru_cache(4096)
def _is_quantity(text: str) -> bool:
    """The same few amounts come again with every pod."""
    return quantities.is_quantity(text)


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return _joined(left, right, quantities.add)


def _larger(left: Amounts, right: Amounts) -> Amounts:
    return _joined(left, right, lambda a, b: a if quantities.compare(a, b) >= 0 else b)


def _joined(left: Amounts, right: Amounts, join: Callable[[str, str], str]) -> Amounts:
    if not left or not right:
        return left or right
    return {
        **left,
        **{name: join(left[name], right[name]) if name in left else right[name] for name in right},
    }
