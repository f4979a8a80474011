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
        self._spare: list[tuple[str, str]] = []
        """The namespace whose pods had it, and the layer."""
        self._count = 0

    def take(self, namespace: str) -> str:
        """One that pods of this namespace had, or a new one."""
        found = next((one for one in reversed(self._spare) if one[0] == namespace), None)
        if found is not None:
            self._spare.remove(found)
            return found[1]
        self._count += 1
        return os.path.join(self._folder, f"{os.getpid()}-{self._count}")

    def give_back(self, layer: str, namespace: str) -> None:
        """One that nothing was written to; only when no mount of it is left."""
        self._spare.append((namespace, layer))
        if len(self._spare) > _MOST_SPARE:
            self.clear_away(self._spare.pop(0)[1])

    def clear_others(self, in_use: set[str]) -> None:
        """Of a former life."""
        for entry in os.scandir(self._folder):
            if entry.path not in in_use:
                self.clear_away(entry.path)

    def clear_away(self, layer: str) -> None:
        def work() -> int:
            os.nice(10)
            layers.remove(layer)
            return 0

        self._aside(work)
