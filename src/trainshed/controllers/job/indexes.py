"""Sets of completion indexes and how a Job's status writes them: `0,2-5`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Indexes = frozenset[int]
NONE: Indexes = frozenset()

_PART = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)


def parse(text: str, completions: int) -> Indexes:
    """The indexes of a text, those below `completions`; what cannot be read is left out."""
    found: set[int] = set()
    for part in text.split(","):
        if matched := _PART.fullmatch(part):
            first, last = int(matched[1]), int(matched[2] or matched[1])
            found.update(range(first, min(last + 1, completions)))
    return frozenset(found)


def written(found: Iterable[int]) -> str:
    """Runs of three and more become `a-b`, shorter ones are listed."""
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in _runs(sorted(found))
    )


def _runs(ordered: list[int]) -> Iterator[range]:
    start = 0
    for at, index in enumerate(ordered):
        if at + 1 == len(ordered) or ordered[at + 1] != index + 1:
            yield range(ordered[start], index + 1)
            start = at + 1
