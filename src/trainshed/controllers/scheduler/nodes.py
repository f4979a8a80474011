"""Nodes as the scheduler sees them, and what about one keeps a pod away whatever else runs there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from trainshed.controllers.scheduler import amounts
from trainshed.controllers.scheduler.amounts import Amounts
from trainshed.kinds.reading import entries, mapping, number, texts
from trainshed.kube import conditions
from trainshed.kube.numbers import integer
from trainshed.kube.objects import Object, text
from trainshed.kube.selectors import Operator, Requirement

Why = Literal["not ready", "cordoned", "label", "affinity", "taint"]
_OPERATORS: dict[str, Operator] = {
    "In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt",
}  # fmt: skip
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Node:
    name: str
    room: Amounts
    labels: dict[str, str]
    taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value, effect."""
    is_ready: bool = True
    is_cordoned: bool = False
    trouble: str = ""
    """What is said of one that is not ready."""
    is_known: bool = True
    """False for one that is only named by pods."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node does not take a pod, and what of the pod or the node it is about."""

    why: Why
    what: str = ""


def of(obj: Object) -> Node:
    ready = conditions.find(entries(obj, "status", "conditions"), "Ready") or {"status": "True"}
    is_ready = ready.get("status") == "True"
    taints = entries(obj, "spec", "taints")
    return Node(
        text(obj, "metadata", "name"),
        amounts.of_node(obj),
        {key: str(value) for key, value in mapping(obj, "metadata", "labels").items()},
        tuple((text(one, "key"), text(one, "value"), text(one, "effect")) for one in taints),
        is_ready,
        mapping(obj, "spec").get("unschedulable") is True,
        "" if is_ready else text(ready, "message"),
    )


def unknown(name: str) -> Node:
    return Node(name, {}, {}, is_ready=False, is_known=False)


def refusal(node: Node, spec: Object) -> Refusal | None:
    """What keeps a pod of this spec away from the node, or None; what passes only where all else is right."""
    if refused := _constraint(node, spec):
        return refused
    if not node.is_ready:
        return Refusal("not ready", node.trouble)
    return Refusal("cordoned") if node.is_cordoned else None


def _constraint(node: Node, spec: Object) -> Refusal | None:
    """The same, as far as the pod's author could have written it otherwise."""
    for key, value in mapping(spec, "nodeSelector").items():
        if node.labels.get(key) != value:
            return Refusal("label", f"{key}={value}")
    terms = entries(spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    required = mapping(spec, "affinity", "nodeAffinity", _REQUIRED)
    if required and not any(_matches(node, term) for term in terms):
        return Refusal("affinity", " or ".join(filter(None, map(_written, terms))))
    for key, value, effect in node.taints:
        if effect in ("NoSchedule", "NoExecute") and not _tolerated((key, value, effect), spec):
            return Refusal("taint", f"{key}={value}:{effect}" if value else f"{key}:{effect}")
    return None


def preference(node: Node, spec: Object) -> int:
    """How much the pod prefers the node: the weights of its preferred terms, less for taints it minds."""
    preferred = entries(spec, "affinity", "nodeAffinity", _PREFERRED)
    score = sum(number(one, "weight") or 0 for one in preferred if _matches(node, mapping(one, "preference")))
    minded = sum(not _tolerated(taint, spec) for taint in node.taints if taint[2] == "PreferNoSchedule")
    return score - 100 * minded


def _matches(node: Node, term: Object) -> bool:
    """A term without requirements matches nothing, as upstream has it."""
    wanted = [*_requirements(entries(term, "matchExpressions"))]
    fields = [*_requirements(entries(term, "matchFields"))]
    about = {"metadata.name": node.name}
    return bool(wanted or fields) and (
        all(one.matches(node.labels) for one in wanted) and all(one.matches(about) for one in fields)
    )


def _requirements(expressions: Iterable[Object]) -> Iterator[Requirement]:
    for one in expressions:
        operator = _OPERATORS.get(text(one, "operator"), "in")
        values = tuple(texts(one, "values"))
        if operator in ("gt", "lt") and (not values or integer(values[0]) is None):
            operator, values = "in", ()  # cannot be met
        yield Requirement(text(one, "key"), operator, values)


def _written(term: Object) -> str:
    wanted = [*entries(term, "matchExpressions"), *entries(term, "matchFields")]
    return " and ".join(map(str, _requirements(wanted)))


def _tolerated(taint: tuple[str, str, str], spec: Object) -> bool:
    return any(_tolerates(one, *taint) for one in entries(spec, "tolerations"))


def _tolerates(toleration: Object, key: str, value: str, effect: str) -> bool:
    if text(toleration, "effect") not in ("", effect):
        return False
    if text(toleration, "key") not in ("", key):
        return False
    return text(toleration, "operator") == "Exists" or text(toleration, "value") == value
