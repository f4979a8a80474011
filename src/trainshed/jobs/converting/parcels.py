"""An object that is taken apart: what nobody has taken in the end was not understood, and is told."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.jobs.converting.findings import Findings, Step
from trainshed.kube.objects import JSON, Object, copied, dig

Path = tuple[Step, ...]


class Parcel:
    def __init__(self, value: Object, findings: Findings, base: Path = ()) -> None:
        self.findings = findings
        self._left: Object = copied(value)
        self._base = base

    def take(self, *path: str) -> JSON:
        """What is there, which is then there no more; None where nothing is."""
        holder = dig(self._left, *path[:-1])
        return holder.pop(path[-1], None) if isinstance(holder, dict) else None

    def look(self, *path: str) -> JSON:
        return dig(self._left, *path)

    def path(self, *path: str) -> Path:
        """As people know it, from the top of the manifest."""
        return (*self._base, *path)

    def lost(self, why: str, advice: str, *path: str) -> None:
        """Take something there is no place for, and say so if it is there at all."""
        if says_something(self.take(*path)):
            self.findings.lost(self.path(*path), why, advice)

    def needless(self, why: str, *path: str) -> None:
        if says_something(self.take(*path)):
            self.findings.needless(self.path(*path), why)

    def close(self, why: str) -> None:
        """Tell what is left, leaf by leaf."""
        for path in leaves(self._left):
            self.findings.lost((*self._base, *path), why)
        self._left = {}


def says_something(value: JSON) -> bool:
    """Null, and what holds nothing else, is as good as absent."""
    return next(leaves(value), None) is not None


def leaves(value: JSON, path: Path = ()) -> Iterator[Path]:
    """The paths of all values that say something: of empty texts too, of nulls and empty objects not."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    elif value is not None:
        yield path
