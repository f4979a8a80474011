"""Sets of fields, in the very form `metadata.managedFields` stores them (FieldsV1).

A set is a tree of plain dicts. Keys name the step: `f:` a field, `k:` a list item by its keys, `v:` one
by its value, `i:` an item by its index. `{}` says the step itself is in the set; `.` says so where there are
steps below. The outermost `{}` is the empty set. Because this is the stored form, a set that does not change
costs nothing.

Sets are never changed in place: results share parts with the arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from trainshed.kube.objects import JSON, Object, decode, encode

FieldSet = Object
Path = tuple[str, ...]
SELF: Final = "."


def is_member(node: FieldSet) -> bool:
    """Whether a step is in the set itself, not only something below it."""
    return not node or SELF in node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one:
        return other
    result = dict(one)
    for key, node in other.items():
        mine = result.get(key)
        result[key] = node if mine is None else _joined(mine, node)
    return result


def _joined(one: FieldSet, other: FieldSet) -> FieldSet:
    if one and other:
        return union(one, other)
    more = one or other
    return more if is_member(more) else {SELF: {}, **more}


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for key, node in one.items():
        theirs = other.get(key)
        if theirs is None or key == SELF:
            continue
        below = intersection(node, theirs)
        if is_member(node) and is_member(theirs):
            result[key] = {SELF: {}, **below} if below else {}
        elif below:
            result[key] = below
    return result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is only in the first set; the first set itself when nothing of it goes.

    Members count one by one: taking away a parent leaves what is below it, and the other way round.
    """
    result = one
    for key, theirs in other.items():
        node = one.get(key)
        if node is None or key == SELF:
            continue
        left = _left(node, theirs)
        if left is node:
            continue
        if result is one:
            result = dict(one)
        if left is None:
            del result[key]
        else:
            result[key] = left
    return result


def _left(node: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not node:
        return None if is_member(theirs) else node
    below = difference(node, theirs)
    if SELF in below:
        if is_member(theirs):
            below = {key: value for key, value in below.items() if key != SELF}
        elif len(below) == 1:
            return {}
    return below or None


def contains(fields: FieldSet, path: Path) -> bool:
    node: FieldSet | None = fields
    for step in path:
        node = node.get(step) if node is not None else None
    return bool(path) and node is not None and is_member(node)


def paths(fields: FieldSet, above: Path = ()) -> Iterator[Path]:
    """Every member, as upstream lists them: the members of a level in order, then what is below each step."""
    steps = [step for step in in_order(fields) if step != SELF]
    for step in steps:
        if is_member(fields[step]):
            yield (*above, step)
    for step in steps:
        yield from paths(fields[step], (*above, step))


# --- the stored form --------------------------------------------------------------------------------------


def encoded(fields: FieldSet) -> FieldSet:
    """The set as it is stored: every level in order, so that equal sets have equal bytes."""
    if not any(fields.values()):
        return {key: {} for key in in_order(fields)}
    if len(fields) == 1:
        return {key: encoded(node) if node else {} for key, node in fields.items()}
    return {key: encoded(fields[key]) if fields[key] else {} for key in in_order(fields)}


def in_order(steps: Iterable[str]) -> list[str]:
    """Steps sorted: the node itself, fields by name, keyed items, values, indices."""
    ordered = sorted(steps)
    # Nearly every level consists of fields only, which the plain order gets right.
    return ordered if not ordered or ordered[-1] < "g" else sorted(ordered, key=_known_rank)


_KINDS: Final = {".": 0, "f": 1, "k": 2, "v": 3, "i": 4}


def _known_rank(step: str) -> tuple[int, JSON]:
    return _remembered_rank(step) if len(step) <= _SHORT else _rank(step)


def _rank(step: str) -> tuple[int, JSON]:
    kind = step[0]
    if kind == "k":
        keys = decode(step[2:].encode())
        return 2, [(name, _rank_value(value)) for name, value in keys.items()]
    if kind == "v":
        return 3, _rank_value(decode(step[2:].encode()))
    return _KINDS[kind], int(step[2:]) if kind == "i" else step


_SHORT: Final = 128
_remembered_rank = lru_cache(maxsize=2048)(_rank)
"""Nearly all items of lists have the same few names: containers, variables, conditions."""


def _rank_value(value: JSON) -> tuple[int, JSON]:
    """Numbers before strings before truth values before the rest: any two values can be compared."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, encode(value))


def decoded(source: JSON) -> FieldSet:
    """A set sent by a client, checked and in our spelling; ValueError says what is wrong with it.

    Unknown kinds of steps are dropped, as upstream drops them: a later version may know them.
    """
    if source is None:
        return {}
    if not isinstance(source, dict):
        raise ValueError(f"a set of fields must be an object, not {type(source).__name__}")
    result: FieldSet = {}
    for step, below in source.items():
        if step == SELF:
            result[SELF] = {}
        elif (known := _spelled(step)) is not None:
            result[known] = decoded(below)
    return {} if len(result) == 1 and SELF in result else result


def _spelled(step: str) -> str | None:
    """The one spelling we use for a step; None for kinds we do not know."""
    if len(step) < 2 or step[1] != ":":
        raise ValueError(f"missing colon: {step}")
    kind, content = step[0], step[2:]
    if kind == "f":
        return step
    if kind == "i":
        return f"i:{int(content)}"
    if kind == "v":
        return value_step(decode(content.encode()))
    if kind == "k":
        keys = decode(content.encode())
        if not isinstance(keys, dict):
            raise ValueError(f"not an object: {content}")
        return key_step(keys)
    return None


def key_step(keys: Object) -> str:
    """The step to a list item that is identified by some of its fields."""
    return "k:" + encode({name: _number(keys[name]) for name in sorted(keys)}).decode()


def value_step(value: JSON) -> str:
    return "v:" + encode(_number(value)).decode()


def _number(value: JSON) -> JSON:
    """1.0 and 1 name the same item."""
    return int(value) if type(value) is float and value.is_integer() else value


# --- for people -------------------------------------------------------------------------------------------


def shown(path: Path) -> str:
    """A path as error messages print it: `.spec.containers[name="a"].image`."""
    return "".join(map(_shown_step, path))


def _shown_step(step: str) -> str:
    kind, content = step[0], step[2:]
    if kind == "f":
        return f".{content}"
    if kind == "i":
        return f"[{content}]"
    value = decode(content.encode())
    if kind == "v":
        return f"[={_shown_value(value)}]"
    return "[" + ",".join(f"{name}={_shown_value(item)}" for name, item in value.items()) + "]"


def _shown_value(value: JSON) -> str:
    return encode(value).decode()
