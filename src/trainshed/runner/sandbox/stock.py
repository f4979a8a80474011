"""Layers nobody uses: those nothing was written to are given out again, the others are cleared away."""

from __future__ import annotations

import os
from collections.abc import Callable

from trainshed.runner.sandbox import layers

_MOST_SPARE = 32

Aside = Callable[[Callable[[], int]], None]
"""Has a child do some work."""


class Stock:
    def __init__(self, folder: str, aside: Aside) -> None:
        self._folder, self._aside = folder, aside
        self._spare: list[str] = []
        self._count = 0

    def take(self) -> str:
        if self._spare:
            return self._spare.pop()
        self._count += 1
        return os.path.join(self._folder, f"{os.getpid()}-{self._count}")

    def give_back(self, layer: str, *, is_clean: bool) -> None:
        """Only when no mount of it is left."""
        if is_clean and len(self._spare) < _MOST_SPARE:
            self._spare.append(layer)
        else:
            self._clear_away(layer)

    def clear_others(self, in_use: set[str]) -> None:
        """Of a former life."""
        for entry in os.scandir(self._folder):
            if entry.path not in in_use:
                self._clear_away(entry.path)

    def _clear_away(self, layer: str) -> None:
        def work() -> int:
            os.nice(10)
            layers.remove(layer)
            return 0

        self._aside(work)
