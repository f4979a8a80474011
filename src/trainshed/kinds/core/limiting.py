"""What LimitRanges do to the pods and claims of their namespace: fill in amounts, refuse others; pure.

https://kubernetes.io/docs/concepts/policy/limit-range/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

from trainshed.kinds.core import podamounts, resources
from trainshed.kinds.reading import child, entries, mapping
from trainshed.kube import quantities
from trainshed.kube.objects import Object, metadata, text

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_GROUPS: Final = (("containers", "container"), ("initContainers", "init container"))

Amounts = Mapping[str, str]


# --- filling in -------------------------------------------------------------------------------------------


def fill(pod: Object, ranges: Iterable[Object]) -> None:
    """Give containers the amounts they do not name; the pod says what was given."""
    for limit_range in ranges:
        most, asked = _defaults(limit_range)
        given = [
            note
            for group, word in _GROUPS
            for container in entries(pod, "spec", group)
            for note in _fill_container(container, word, most, asked)
        ]
        if given:
            child(metadata(pod), "annotations")[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(given)}"


def _defaults(limit_range: Object) -> tuple[Amounts, Amounts]:
    most: dict[str, str] = {}
    asked: dict[str, str] = {}
    for item in _items(limit_range, "Container"):
        most |= mapping(item, "default")
        asked |= mapping(item, "defaultRequest")
    return most, asked


def _fill_container(container: Object, word: str, most: Amounts, asked: Amounts) -> Iterator[str]:
    wanted = child(container, "resources")
    for part, said, amounts in (("requests", "request", asked), ("limits", "limit", most)):
        missing = {name: amount for name, amount in amounts.items() if name not in mapping(wanted, part)}
        if missing:
            wanted[part] = {**mapping(wanted, part), **missing}
            yield f"{', '.join(sorted(missing))} {said} for {word} {text(container, 'name')}"


def _items(limit_range: Object, kind: str) -> list[Object]:
    return [item for item in entries(limit_range, "spec", "limits") if text(item, "type") == kind]


# --- refusing ---------------------------------------------------------------------------------------------


def pod_refusal(pod: Object, limit_range: Object) -> str:
    """Why a pod may not be so, in the real server's words; or nothing."""
    found: list[str] = []
    spec = mapping(pod, "spec")
    for item in entries(limit_range, "spec", "limits"):
        if text(item, "type") == "Container":
            for container in entries(spec, "containers") + entries(spec, "initContainers"):
                wanted = mapping(container, "resources")
                found += _faults(item, "Container", mapping(wanted, "requests"), mapping(wanted, "limits"))
        elif text(item, "type") == "Pod":
            asked = podamounts.requests(spec, overhead=False)
            found += _faults(item, "Pod", asked, podamounts.limits(spec, overhead=False))
    return _joined(found)


def claim_refusal(claim: Object, limit_range: Object) -> str:
    """Of a claim only what it requests is looked at."""
    found: list[str] = []
    asked = mapping(claim, "spec", "resources", "requests")
    for item in _items(limit_range, "PersistentVolumeClaim"):
        found += _too_little(item, "PersistentVolumeClaim", asked, {})
        for name, most in mapping(item, "max").items():
            lead = f"maximum {name} usage per PersistentVolumeClaim is {most}"
            if name not in asked:
                found.append(f"{lead}.  No request is specified")
            elif _value(asked[name]) > _value(most):
                found.append(f"{lead}, but request is {asked[name]}")
    return _joined(found)


def _joined(faults: list[str]) -> str:
    texts = list(dict.fromkeys(faults))
    return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)


def _faults(item: Object, kind: str, asked: Amounts, most: Amounts) -> list[str]:
    return [
        *_too_little(item, kind, asked, most),
        *_too_much(item, kind, asked, most),
        *_too_far_apart(item, kind, asked, most),
    ]


def _too_little(item: Object, kind: str, asked: Amounts, most: Amounts) -> Iterator[str]:
    for name, least in mapping(item, "min").items():
        lead = f"minimum {name} usage per {kind} is {least}"
        if name not in asked:
            yield f"{lead}.  No request is specified"
        elif _value(asked[name]) < _value(least):
            yield f"{lead}, but request is {asked[name]}"
        elif name in most and _value(most[name]) < _value(least):
            yield f"{lead}, but limit is {most[name]}"


def _too_much(item: Object, kind: str, asked: Amounts, most: Amounts) -> Iterator[str]:
    for name, bound in mapping(item, "max").items():
        lead = f"maximum {name} usage per {kind} is {bound}"
        if name not in most:
            yield f"{lead}.  No limit is specified"
        elif _value(most[name]) > _value(bound):
            yield f"{lead}, but limit is {most[name]}"
        elif name in asked and _value(asked[name]) > _value(bound):
            yield f"{lead}, but request is {asked[name]}"


def _too_far_apart(item: Object, kind: str, asked: Amounts, most: Amounts) -> Iterator[str]:
    for name, ratio in mapping(item, "maxLimitRequestRatio").items():
        lead = f"{name} max limit to request ratio per {kind} is {ratio}"
        request, limit = (resources.parsed(amounts.get(name)) for amounts in (asked, most))
        if not request:
            yield f"{lead}, but no request is specified or request is 0"
        elif not limit:
            yield f"{lead}, but no limit is specified or limit is 0"
        elif limit / request > _value(ratio):
            yield f"{lead}, but provided ratio is {limit / request:.6f}"


def _value(amount: str) -> Decimal:
    return quantities.parse(amount)
