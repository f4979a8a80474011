"""Rules written in CEL (x-kubernetes-validations), evaluated wherever a schema carries them.

All rules of one object share a budget, so that no object, however large, holds the server up: `BUDGET` steps
take one or two tenths of a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from trainshed.kube import cel, faults
from trainshed.kube.cel.values import NO_OVERLOAD, NONE, Optional
from trainshed.kube.faults import FieldError
from trainshed.kube.limits import identity
from trainshed.kube.objects import JSON, Object
from trainshed.kube.structure import MISSING, Rule, Schema
from trainshed.kube.uniqueness import key_of

BUDGET: Final = 500_000
_LONGEST_MESSAGE: Final = 5 * 1024
_EXHAUSTED: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_MISMATCH: Final = "call arguments did not match a supported operator, function or macro signature"


def errors(schema: Schema, obj: JSON, old: JSON = MISSING, path: str = "") -> list[FieldError]:
    """What the rules have against an object. Without an old one, rules about transitions are not asked."""
    return list(_Walk(cel.Budget(BUDGET)).errors(schema, obj, old, path, unchanged=False))


@dataclass(frozen=True, slots=True)
class _Ready:
    """A rule of a node, compiled; `fault` says why it could not be."""

    rule: Rule
    program: cel.Program | None
    message: cel.Program | None
    fault: str = ""

    @property
    def needs_old(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.names


_READY: WeakKeyDictionary[Schema, tuple[_Ready, ...]] = WeakKeyDictionary()


def _ready(node: Schema) -> tuple[_Ready, ...]:
    """A node's rules, compiled once for as long as the node lives."""
    if (found := _READY.get(node)) is None:
        found = _READY[node] = tuple(_compiled(rule, node) for rule in node.rules if rule.rule.strip())
    return found


def _compiled(rule: Rule, node: Schema) -> _Ready:
    optional = rule.optional_old_self
    if fault := cel.check(rule.rule, node, optional_old=optional):
        return _Ready(rule, None, None, fault)
    expression = rule.message_expression
    message = None
    if expression and cel.check_message(expression, node, optional_old=optional) is None:
        message = cel.compile(expression, node, optional_old=optional)
    return _Ready(rule, cel.compile(rule.rule, node, optional_old=optional), message)


@dataclass(slots=True)
class _Walk:
    budget: cel.Budget
    exhausted: bool = False

    def errors(
        self, node: Schema, value: JSON, old: JSON, path: str, *, unchanged: bool
    ) -> Iterator[FieldError]:
        """Rules of a node, then of what is below it; null has no rules."""
        if not node.has_rules or value is None or self.exhausted:
            return
        unchanged = unchanged or (old is not MISSING and old == value)
        if node.rules:
            yield from self._own(node, value, old, path, unchanged)
        if isinstance(value, dict):
            yield from self._fields(node, value, old if isinstance(old, dict) else {}, path, unchanged)
        elif isinstance(value, list) and node.items is not None and node.items.has_rules:
            before = _by_key(node, old)
            for index, item in enumerate(value):
                counterpart = before.get(identity(key_of(node, item)), MISSING) if before else MISSING
                yield from self.errors(node.items, item, counterpart, f"{path}[{index}]", unchanged=unchanged)

    def _fields(
        self, node: Schema, value: Object, old: Object, path: str, unchanged: bool
    ) -> Iterator[FieldError]:
        for key, item in value.items():
            if (child := node.properties.get(key)) is not None:
                where = f"{path}.{key}" if path else key
            elif (child := node.additional) is not None:
                where = f"{path}[{key}]"
            else:
                continue
            if child.has_rules:
                yield from self.errors(child, item, old.get(key, MISSING), where, unchanged=unchanged)

    def _own(self, node: Schema, value: JSON, old: JSON, path: str, unchanged: bool) -> Iterator[FieldError]:
        has_old = old is not MISSING and old is not None
        for ready in _ready(node):
            skipped = ready.needs_old and not has_old and not ready.rule.optional_old_self
            # What was tolerated before is tolerated still, while nobody touches it.
            if skipped or (unchanged and not ready.needs_old):
                continue
            if self.exhausted:
                return
            variables = {"self": value, "oldSelf": old}
            if ready.rule.optional_old_self:
                variables["oldSelf"] = Optional(old, True) if has_old else NONE
            if error := self._verdict(node, ready, variables, path):
                yield error

    def _verdict(self, node: Schema, ready: _Ready, variables: Object, path: str) -> FieldError | None:
        where, kind, words = path or "<nil>", node.type, _words(ready.rule)
        if ready.program is None:
            return faults.invalid(where, kind, f"rule compile error: {ready.fault}")
        try:
            if ready.program.evaluate(variables, self.budget) is True:
                return None
            place = _join(path, ready.rule.field_path)
            return _refusal(ready.rule, place, kind, self._message(ready, variables))
        except cel.OutOfBudget:
            self.exhausted = True
            return faults.invalid(where, kind, _EXHAUSTED)
        except cel.EvaluationError as wrong:
            if str(wrong).startswith(NO_OVERLOAD):
                return faults.invalid(where, kind, f"'{wrong}': {_MISMATCH} for rule: {words}")
            return faults.invalid(where, kind, f"{wrong} evaluating rule: {words}")

    def _message(self, ready: _Ready, variables: Object) -> str:
        """What the message expression says; where it says nothing usable, the rule's own message."""
        if ready.message is not None:
            try:
                said = ready.message.evaluate(variables, self.budget)
            except cel.EvaluationError:
                said = None
            if isinstance(said, str) and _is_usable(said := said.strip()):
                return said
        return ready.rule.message.strip() or f"failed rule: {ready.rule.rule.strip()}"


def _is_usable(message: str) -> bool:
    return 0 < len(message.encode(errors="replace")) <= _LONGEST_MESSAGE and "\n" not in message


def _by_key(node: Schema, old: JSON) -> dict[JSON, JSON]:
    """The old entries of a list that is a map, by their keys; other lists have no lasting entries."""
    if node.list_type != "map" or not isinstance(old, list):
        return {}
    return {identity(key_of(node, item)): item for item in old if isinstance(item, dict)}


def _words(rule: Rule) -> str:
    return rule.message.strip() or rule.rule.strip()


def _join(path: str, field_path: str) -> str:
    """The path a rule's fault is reported at; `fieldPath` is written `.a.b` or `['a']`."""
    if field_path.startswith("."):
        field_path = field_path if path else field_path[1:]
    return f"{path}{field_path}" or "<nil>"


def _refusal(rule: Rule, where: str, kind: str, message: str) -> FieldError:
    match rule.reason:
        case "FieldValueForbidden":
            return faults.forbidden(where, message)
        case "FieldValueRequired":
            return faults.required(where, message)
        case "FieldValueDuplicate":
            return faults.duplicate(where, kind)
        case _:
            return faults.invalid(where, kind, message)
