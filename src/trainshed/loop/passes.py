"""How often controllers looked at their objects, how that ended and how long it took: plain numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Result = Literal["done", "again", "retried", "gave_up", "failed"]
RESULTS: tuple[Result, ...] = ("done", "again", "retried", "gave_up", "failed")
BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Seconds; what took longer than the last one is counted too."""


@dataclass(slots=True)
class Tally:
    """Of one controller."""

    waiting: Callable[[], int]
    """Keys that nobody works on yet."""
    results: dict[Result, int] = field(default_factory=lambda: dict.fromkeys(RESULTS, 0))
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, result: Result, seconds: float) -> None:
        self.results[result] += 1
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


@dataclass(frozen=True, slots=True)
class Passes:
    """Of all controllers of a process, by name."""

    tallies: dict[str, Tally] = field(default_factory=dict)

    def open(self, controller: str, waiting: Callable[[], int]) -> Tally:
        tally = self.tallies[controller] = Tally(waiting)
        return tally
