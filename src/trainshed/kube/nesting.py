"""How deep values may nest: recursive walks stay far from the interpreter's own limit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from trainshed.kube import faults
from trainshed.kube.objects import JSON

DEEPEST: Final = 100
"""Levels of lists and objects an object may have; the server refuses deeper requests before all walks."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def check(value: JSON) -> None:
    """BadRequest when the value nests deeper than allowed. Walks level by level, so depth cannot hurt it."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return
    raise faults.BadRequest(f"the object nests deeper than {DEEPEST} levels")


def bounded(walk: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A recursive walk over foreign values that answers BadRequest where it would run out of stack."""

    @functools.wraps(walk)
    def guarded(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return walk(*args, **kwargs)
        except RecursionError:
            raise faults.BadRequest(f"the object nests deeper than {DEEPEST} levels") from None

    return guarded


def _inside(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
