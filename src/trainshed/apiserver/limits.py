"""LimitRanges and pod security at work: what a namespace asks of each pod and claim in it."""

from __future__ import annotations

from collections.abc import Callable

from trainshed.apiserver.admission import Check, Request
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.core import limiting, pods
from trainshed.kube import faults
from trainshed.kube.objects import Object, dig

RANGES = "limitranges"


def _ranges(state: State, namespace: str) -> list[Object]:
    return [loaded(record) for record in state.store.list(RANGES, namespace)]


def pod_gets_default_amounts(request: Request) -> None:
    if request.operation != "CREATE" or not isinstance(request.obj.get("spec"), dict):
        return
    ranges = _ranges(request.state, request.namespace)
    if ranges:
        limiting.fill(request.obj, ranges)
        pods.settle_quality(request.obj)


def pod_is_within_limits(request: Request) -> None:
    if request.operation == "CREATE":
        _refuse(request, limiting.pod_refusal)


def claim_is_within_limits(request: Request) -> None:
    leaving = dig(request.old, "metadata", "deletionTimestamp")
    if not request.subresource and not leaving:
        _refuse(request, limiting.claim_refusal)


def _refuse(request: Request, refusal: Callable[[Object, Object], str]) -> None:
    for limit_range in _ranges(request.state, request.namespace):
        if why := refusal(request.obj, limit_range):
            raise forbidden(request, why)


def forbidden(request: Request, why: str) -> faults.Forbidden:
    message = f'{request.kind.resource} "{request.name}" is forbidden: {why}'
    return faults.Forbidden(message, name=request.name, group=request.kind.group, kind=request.kind.plural)


CHECKS: dict[str, tuple[Check, ...]] = {"pods": (pod_gets_default_amounts,)}
"""Filled in before anything else looks at a pod."""

VERDICTS: dict[str, tuple[Check, ...]] = {
    "pods": (pod_is_within_limits,),
    "persistentvolumeclaims": (claim_is_within_limits,),
}
