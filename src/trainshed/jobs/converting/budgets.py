"""How much work a conversion may be: few words can ask for a lot, by aliases or by thousands of pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trainshed.kube.objects import JSON

PER_POD: Final = 150
"""About what a container's variables say of one pod, in characters."""


class TooMuch(Exception):
    """The budget is used up; one line."""


@dataclass(slots=True)
class Budget:
    characters: int
    """Of results; it is spent before they are made."""

    def spend(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise TooMuch("the result would be too large")


def size(value: JSON) -> int:
    """About how many characters it takes to write."""
    if isinstance(value, dict):
        return 2 + sum(len(key) + 4 + size(inner) for key, inner in value.items())
    if isinstance(value, list):
        return 2 + sum(2 + size(inner) for inner in value)
    return len(value) + 2 if isinstance(value, str) else 8
