"""The controllers there are, by the names `trainshed operator --controllers` takes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from trainshed.compose.trouble import WRONG_USAGE, Trouble
from trainshed.loop.controller import Controller

NAMES = ("trainjob", "jobset", "job", "scheduler", "claims")


def chosen(names: Sequence[str] = NAMES, *, relax: bool = False) -> list[Controller]:
    """The controllers of these names; only they are imported. Raises `Trouble` for an unknown one."""
    found = []
    for name in names:
        try:
            found.append(_controller(name, relax))
        except (ModuleNotFoundError, AttributeError) as missing:
            print(f"not there yet: {name}: {missing}")
    return found


def _controller(name: str, relax: bool) -> Controller:
    if name not in NAMES:
        raise Trouble(f"there is no controller {name!r}", f"there are {', '.join(NAMES)}", WRONG_USAGE)
    module = importlib.import_module(f"trainshed.controllers.{name}")
    found: Controller = module.controller(relax=relax) if name == "scheduler" else module.controller()
    return found
