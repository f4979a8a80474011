"""JSONPath as kubectl and printer columns of custom resources use it, compiled once.

    .spec.replicas      .metadata.labels.app\\.kubernetes\\.io/name      .metadata.labels['team']
    .items[0]  [-1:]  [0:4:2]  [*]  ['a','b']      .status.conditions[?(@.type=="Ready")].status      ..name

As in client-go a quoted key still splits at dots that are not escaped, an index outside the list ends the
search, and a missing field is no result rather than a fault.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from trainshed.kube.objects import JSON

Step = Callable[[list[JSON]], list[JSON]]

_FIELD = re.compile(r"(?:\\.|[^\\\s.,\[\]$@{}])+", re.DOTALL)
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_OPERATORS: dict[str, Callable[[JSON, JSON], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Nowhere(Exception):
    """The path does not fit the object."""


@dataclass(frozen=True, slots=True)
class Path:
    text: str
    steps: tuple[Step, ...]

    def find(self, value: JSON) -> list[JSON]:
        """All values the path leads to; empty where it does not fit (never raises)."""
        try:
            return _walk(self.steps, [value])
        except _Nowhere:
            return []


def parse(text: str) -> Path:
    """Compile a path, with or without surrounding braces; ValueError says what cannot be read."""
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1].strip()
    return Path(text, tuple(_parse(inner)))


def printed(value: JSON) -> str:
    """One result as kubectl prints it: text bare, numbers as Go does, objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return msgspec.json.encode(value, order="sorted").decode()


# --- reading the text -------------------------------------------------------------------------------------


def _parse(text: str) -> list[Step]:
    steps: list[Step] = []
    at = 0
    while at < len(text):
        step, at = _next_step(text, at)
        if step is not None:
            steps.append(step)
    return steps


def _next_step(text: str, at: int) -> tuple[Step | None, int]:
    if text.startswith("[?(", at):
        return _filter(text, at + 3)
    letter = text[at]
    if letter in " @$":
        return None, at + 1
    if letter == "[":
        return _brackets(text, at + 1)
    if text.startswith("..", at):
        # `..name` is a descent followed by a field: leave one dot for the latter.
        named = at + 2 < len(text) and text[at + 2] not in "[. "
        return _descend, at + 1 if named else at + 2
    if letter == ".":
        return _field_step(text, at + 1)
    raise ValueError(f"unrecognized character in action: {letter!r}")


def _field_step(text: str, at: int) -> tuple[Step | None, int]:
    found = _FIELD.match(text, at)
    if found is None:
        # A lone dot is the object itself.
        return None, at
    name = found.group()
    return (_wildcard if name == "*" else _field(name.replace("\\", ""))), found.end()


def _brackets(text: str, at: int) -> tuple[Step, int]:
    end = text.find("]", at)
    if end < 0:
        raise ValueError("unterminated array")
    choices = [_choice(part.strip()) for part in text[at:end].split(",")]
    return (choices[0] if len(choices) == 1 else _union(choices)), end + 1


def _choice(inner: str) -> Step:
    if inner == "*":
        inner = ":"
    if len(inner) >= 2 and inner[0] == inner[-1] == "'":
        return _chain(tuple(_parse("." + inner[1:-1])))
    found = _SLICE.fullmatch(inner)
    if found is None or not inner:
        raise ValueError(f"invalid array index {inner}")
    start, stop, step = (group for group in found.groups())
    if stop is None and step is None:
        return _index(_integer(start))
    return _slice(_bound(start), _bound((stop or ":")[1:]), _bound((step or ":")[1:]))


def _bound(text: str) -> int | None:
    return _integer(text) if text else None


def _integer(text: str) -> int:
    if len(text) > 10 or text == "-":
        raise ValueError(f"array index {text[:20]} is not a number")
    return int(text)


def _filter(text: str, at: int) -> tuple[Step, int]:
    end = _filter_end(text, at)
    inner = text[at:end]
    found = _COMPARISON.fullmatch(inner)
    if found is None:
        return _existing(tuple(_parse(inner.strip()))), end + 2
    left, sign, right = (part.strip() for part in found.groups())
    if sign not in _OPERATORS:
        raise ValueError(f"unrecognized filter operator {sign}")
    return _matching(_operand(left), _OPERATORS[sign], _operand(right)), end + 2


def _filter_end(text: str, at: int) -> int:
    """Where the filter's `)]` stands; brackets inside quotes do not count."""
    quote = ""
    for position in range(at, len(text)):
        letter = text[position]
        if letter in "'\"" and text[position - 1] != "\\" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == ")" and not quote:
            if text[position + 1 : position + 2] != "]":
                raise ValueError("unclosed array expect ]")
            return position
    raise ValueError("unterminated filter")


def _operand(text: str) -> Step:
    """One side of a comparison: a literal, or a path from the element at hand."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return _constant(text[1:-1].replace("\\" + text[0], text[0]))
    if text in ("true", "false"):
        return _constant(text == "true")
    if _NUMBER.fullmatch(text):
        return _constant(float(text) if "." in text else int(text))
    return _chain(tuple(_parse(text)))


# --- walking an object ------------------------------------------------------------------------------------


def _walk(steps: tuple[Step, ...], values: list[JSON]) -> list[JSON]:
    for step in steps:
        values = step(values)
    return values


def _chain(steps: tuple[Step, ...]) -> Step:
    return lambda values: _walk(steps, values)


def _union(choices: list[Step]) -> Step:
    return lambda values: [found for choice in choices for found in choice(values)]


def _constant(value: JSON) -> Step:
    return lambda values: [value for _ in values]


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _wildcard(values: list[JSON]) -> list[JSON]:
    return [inner for value in values for inner in _inside(value)]


def _descend(values: list[JSON]) -> list[JSON]:
    """Every object and list below, outermost first; iterative, for any depth."""
    found: list[JSON] = []
    waiting = values[::-1]
    while waiting:
        value = waiting.pop()
        if inner := _inside(value):
            found.append(value)
            waiting.extend(reversed(inner))
    return found


def _inside(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _index(position: int) -> Step:
    def step(values: list[JSON]) -> list[JSON]:
        try:
            return [items[position] for items in _lists(values)]
        except IndexError:
            raise _Nowhere from None

    return step


def _slice(start: int | None, stop: int | None, stride: int | None) -> Step:
    def step(values: list[JSON]) -> list[JSON]:
        found: list[JSON] = []
        for items in _lists(values):
            found.extend(_cut(items, start, stop, stride))
        return found

    return step


def _cut(items: list[JSON], start: int | None, stop: int | None, stride: int | None) -> list[JSON]:
    """A slice that, unlike Python's, refuses bounds outside the list."""
    size = len(items)
    first = (start or 0) + (size if (start or 0) < 0 else 0)
    last = size if stop is None else stop + (size if stop < 0 else 0)
    if first == last:
        return []
    if not 0 <= first < size or not 0 <= last <= size or first > last or (stride is not None and stride <= 0):
        raise _Nowhere
    return items[first : last : stride or 1]


def _lists(values: list[JSON]) -> list[list[JSON]]:
    present = [value for value in values if value is not None]
    if not all(isinstance(value, list) for value in present):
        raise _Nowhere
    return present


def _existing(steps: tuple[Step, ...]) -> Step:
    def holds(item: JSON) -> bool:
        try:
            return bool(_walk(steps, [item]))
        except _Nowhere:
            return False

    return lambda values: [item for items in _lists(values) for item in items if holds(item)]


def _matching(left: Step, test: Callable[[JSON, JSON], bool], right: Step) -> Step:
    def holds(item: JSON) -> bool:
        one, other = left([item]), right([item])
        if len(one) > 1 or len(other) > 1:
            raise _Nowhere
        return bool(one) and bool(other) and _compare(test, one[0], other[0])

    return lambda values: [item for items in _lists(values) for item in items if holds(item)]


def _compare(test: Callable[[JSON, JSON], bool], one: JSON, other: JSON) -> bool:
    """Values of different types do not compare at all."""
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if isinstance(one, bool) != isinstance(other, bool) or not (numbers or type(one) is type(other)):
        raise _Nowhere
    if one is None or isinstance(one, dict | list):
        raise _Nowhere
    return test(one, other)
