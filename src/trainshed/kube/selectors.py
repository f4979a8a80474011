"""Label and field selectors: parsed as the real server parses them, refused in its words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from trainshed.kube import faults, names
from trainshed.kube.objects import JSON, Object

Operator = Literal["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]

_BINARY: Final[Mapping[str, Operator]] = {
    "in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"
}  # fmt: skip
_SIGNS: Final = {"gt": ">", "lt": "<"}
_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")
_SPECIAL: Final = frozenset({"", "=", "==", "!=", "!", "(", ")", ",", "<", ">"})
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_FROM_OBJECT: Final[Mapping[str, Operator]] = {
    "In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a label selector. `!=` and `notin` hold for objects that lack the key."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "=" | "==" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or not _INTEGER.fullmatch(value):
            return False
        bound = int(self.values[0])
        return int(value) > bound if self.operator == "gt" else int(value) < bound

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                return f"{self.key}{_SIGNS.get(self.operator, self.operator)}{self.values[0]}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold; none at all selects everything."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def everything(self) -> bool:
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        present: Mapping[str, str] = labels or {}
        return all(requirement.matches(present) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(nothing=True)


def parse_labels(text: str) -> LabelSelector:
    """The selector of a `labelSelector` query; BadRequest when it cannot be understood."""
    if not text:
        return EVERYTHING
    try:
        requirements = list(_Parser(text).requirements())
    except ValueError as wrong:
        raise faults.BadRequest(str(wrong)) from None
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def from_object(selector: Object | None) -> LabelSelector:
    """The selector of `matchLabels`/`matchExpressions`: None selects nothing, an empty object everything."""
    if not isinstance(selector, dict):
        return NOTHING
    try:
        return LabelSelector(tuple(_requirements_of(selector)))
    except ValueError as wrong:
        raise faults.BadRequest(str(wrong)) from None


def _requirements_of(selector: Object) -> Iterator[Requirement]:
    labels, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
    for key, value in sorted(labels.items()) if isinstance(labels, dict) else ():
        yield _checked(key, "=", (str(value),))
    for expression in expressions if isinstance(expressions, list) else ():
        yield _of_expression(expression if isinstance(expression, dict) else {})


def _of_expression(expression: Object) -> Requirement:
    operator = _FROM_OBJECT.get(str(expression.get("operator")))
    if operator is None:
        raise ValueError(f'"{expression.get("operator") or ""}" is not a valid label selector operator')
    values: JSON = expression.get("values")
    listed = tuple(map(str, values)) if isinstance(values, list) else ()
    return _checked(str(expression.get("key") or ""), operator, listed)


def _checked(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    if why := names.qualified_name(key):
        raise ValueError(str(faults.invalid("key", key, why)))
    if operator in ("in", "notin") and not values:
        why = "for 'in', 'notin' operators, values set can't be empty"
        raise ValueError(str(faults.invalid("values", list(values), why)))
    if operator in ("exists", "!") and values:
        why = "values set must be empty for exists and does not exist"
        raise ValueError(str(faults.invalid("values", list(values), why)))
    if operator in ("gt", "lt") and not _INTEGER.fullmatch(values[0]):
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise ValueError(str(faults.invalid("values[0]", values[0], why)))
    for index, value in enumerate(values):
        if why := names.label_value(value):
            raise ValueError(str(faults.invalid(f"values[{index}][{key}]", value, why)))
    return Requirement(key, operator, values)


class _Parser:
    """One pass over the tokens of a label selector; ValueError with the server's words."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._at = 0

    def requirements(self) -> Iterator[Requirement]:
        while (token := self._peek()) != "":
            if token in _SPECIAL and token != "!":
                raise ValueError(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                yield self._requirement()
            except ValueError as wrong:
                raise ValueError(f"unable to parse requirement: {wrong}") from None
            self._separator()

    def _separator(self) -> None:
        found = self._next()
        if found not in ("", ","):
            raise ValueError(f"found '{found}', expected: ',' or 'end of string'")
        if found == "," and (after := self._peek()) in _SPECIAL and after != "!":
            raise ValueError(f"found '{after}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        key = self._next()
        negated = key == "!"
        if negated:
            key = self._next()
        if key in _SPECIAL:
            raise ValueError(f"found '{key}', expected: identifier")
        if why := names.qualified_name(key):
            raise ValueError(str(faults.invalid("<nil>", key, why)))
        if negated:
            return Requirement(key, "!")
        if self._peek() in ("", ","):
            return Requirement(key, "exists")
        operator = self._operator()
        values = self._values() if operator in ("in", "notin") else (self._value(),)
        return _checked(key, operator, values)

    def _operator(self) -> Operator:
        found = self._next()
        if found not in _BINARY:
            raise ValueError(f"found '{found}', expected: in, notin, =, ==, !=, gt, lt")
        return _BINARY[found]

    def _value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        if (found := self._next()) in _SPECIAL:
            raise ValueError(f"found '{found}', expected: identifier")
        return found

    def _values(self) -> tuple[str, ...]:
        if (found := self._next()) != "(":
            raise ValueError(f"found '{found}' expected: '('")
        values = {self._listed()}
        while (found := self._next()) == ",":
            values.add(self._listed())
        if found != ")":
            raise ValueError(f"found '{found}', expected: ',' or ')'")
        return tuple(sorted(values))

    def _listed(self) -> str:
        """One value between commas and parentheses; it may be empty."""
        if (ahead := self._peek()) in (",", ")"):
            return ""
        if ahead in _SPECIAL:
            raise ValueError(f"found '{ahead}', expected: ',', ')' or identifier")
        return self._next()

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _next(self) -> str:
        """Take a token; the end can be taken again and again."""
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token


# --- field selectors --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One term of a field selector: the value at a path is (or is not) this text; absent counts as empty."""

    path: str
    equal: bool
    value: str

    def matches(self, value: str) -> bool:
        return (value == self.value) is self.equal

    def __str__(self) -> str:
        escaped = re.sub(r"[\\,=]", lambda found: "\\" + found[0], self.value)
        return f"{self.path}{'=' if self.equal else '!='}{escaped}"


_TERM: Final = re.compile(r"(?:\\.|[^,\\])*\\?", re.DOTALL)
_COMPARISON: Final = re.compile(r"!=|==|=")


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """The terms of a `fieldSelector` query, in order; empty terms (trailing commas) are ignored."""
    return tuple(_field_term(part, text) for part in _parts(text) if part)


def _parts(text: str) -> Iterator[str]:
    at = 0
    while at <= len(text):
        found = _TERM.match(text, at)
        part = found[0] if found else ""
        yield part
        at += len(part) + 1


def _field_term(part: str, text: str) -> FieldTerm:
    found = _COMPARISON.search(part)
    if found is None:
        raise faults.BadRequest(f"invalid selector: '{text}'; can't understand '{part}'")
    return FieldTerm(part[: found.start()], found[0] != "!=", _unescaped(part[found.end() :]))


def _unescaped(value: str) -> str:
    if wrong := re.search(r"\\([^\\,=]|$)", re.sub(r"\\[\\,=]", "", value), re.DOTALL):
        raise faults.BadRequest(f"invalid field selector: invalid escape sequence: {wrong[0]}")
    if wrong := re.search("[,=]", re.sub(r"\\[\\,=]", "", value)):
        # The real server prints the character's number here.
        raise faults.BadRequest(f"invalid field selector: unescaped character in value: {ord(wrong[0])}")
    return re.sub(r"\\([\\,=])", r"\1", value)
