"""The comments of a YAML text: which field each is about, and where they go when fields have moved."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import yaml

from trainshed.controllers.trainjob.lifetimes import TTL, TTL_ANNOTATION
from trainshed.jobs.converting.findings import dotted
from trainshed.jobs.converting.parcels import Path
from trainshed.jobs.converting.writing import Line
from trainshed.kube.objects import JSON

Place = Literal["above", "beside", "below"]
Home = tuple[int, Path]
"""Which of the new documents, and where in it."""
Shelf = dict[str, None]
"""Comments of one place, each once."""
_MARK: Final = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
_HEADER: Final = re.compile(r"[|>][0-9+-]*[ \t]+(#.*)")
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_LOOKS: Final = 200_000
"""Of a document's comments for their fields; those it would take more for stand on top."""
_HOMES: Final = {
    "replicas": "numNodes",
    "nprocPerNode": "numProcPerNode",
    "nProcPerNode": "numProcPerNode",
    "slotsPerWorker": "numProcPerNode",
    "resources": "resourcesPerNode",
    "podTemplateOverrides": "runtimePatches",
    "podSpecOverrides": "runtimePatches",
    "minReplicas": "minNodes",
    "maxReplicas": "maxNodes",
    TTL: TTL_ANNOTATION,
}
"""What fields are called now."""


@dataclass(frozen=True, slots=True)
class Comment:
    text: str
    """With its mark."""
    path: Path
    """The field it is about; empty for one that is about none."""
    place: Place


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a field or an item begins."""

    line: int
    column: int
    path: Path


# --- reading ------------------------------------------------------------------------------------------------


def read(text: str) -> list[Comment]:
    """All comments of one YAML document."""
    spots = sorted(_spots(text), key=lambda spot: (spot.line, len(spot.path)))
    starts, columns = [spot.line for spot in spots], {spot.path: spot.column for spot in spots}
    found = []
    for line, column, words, is_alone in _marks(text):
        at = bisect_left(starts, line + 1)
        before = spots[at - 1] if at else None
        after = spots[at] if at < len(spots) else None
        found.append(_placed(words, column, before, after, columns, is_alone=is_alone))
    return found


def _placed(
    words: str,
    column: int,
    before: _Spot | None,
    after: _Spot | None,
    columns: Mapping[Path, int],
    *,
    is_alone: bool,
) -> Comment:
    if not is_alone and before is not None:
        return Comment(words, before.path, "beside")
    if after is not None and (before is None or column <= after.column):
        return Comment(words, after.path, "above")
    path = before.path if before else ()
    # It ends the part of the text that is indented as it is.
    parts = [path[:length] for length in range(len(path), 0, -1)]
    return Comment(words, next((part for part in parts if columns[part] <= column), path), "below")


def _marks(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Line, column, words and whether nothing else is on the line, of each comment."""
    inside = sorted(_scalars(text))
    starts = [start for start, _ in inside]
    line, counted = 0, 0
    for match in _MARK.finditer(text):
        at = match.start()
        nearest = bisect_left(starts, at + 1) - 1
        if nearest >= 0 and at < inside[nearest][1] and not _is_header(text, at, inside[nearest][0]):
            continue
        begin = text.rfind("\n", 0, at) + 1
        head = text[begin:at]
        line, counted = line + text.count("\n", counted, at), at
        yield line, len(head), match.group().rstrip(), head.strip(" \t-") == ""


def _scalars(text: str) -> Iterator[tuple[int, int]]:
    """Where texts and numbers stand: a mark in one of them begins no comment."""
    for token in yaml.scan(text, Loader=_LOADER):
        if isinstance(token, yaml.ScalarToken):
            yield token.start_mark.index, token.end_mark.index


def _is_header(text: str, at: int, start: int) -> bool:
    """Does the mark stand behind the sign that begins a text of several lines?"""
    found = _HEADER.match(text, start)
    return found is not None and found.start(1) == at


def _spots(text: str) -> Iterator[_Spot]:
    node = yaml.compose(text, Loader=_LOADER)
    waiting: list[tuple[Path, yaml.Node]] = [((), node)] if node is not None else []
    seen: set[int] = set()
    while waiting:
        path, node = waiting.pop()
        if id(node) in seen:  # an alias: it stands where its anchor is
            continue
        seen.add(id(node))
        for spot, inner in _children(path, node):
            yield spot
            waiting.append((spot.path, inner))


def _children(path: Path, node: yaml.Node) -> Iterator[tuple[_Spot, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield _Spot(key.start_mark.line, key.start_mark.column, (*path, str(key.value))), value
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield _Spot(item.start_mark.line, node.start_mark.column, (*path, index)), item


# --- placing ------------------------------------------------------------------------------------------------


def woven(
    documents: Sequence[Sequence[Line]], old: JSON, new: Sequence[JSON], found: Sequence[Comment]
) -> str:
    """The documents' lines with all comments: at their field where it is still there, else on top."""
    homes, loose = Homes(old, new), Shelf()
    shelves: dict[Place, dict[Home, Shelf]] = {"above": {}, "beside": {}, "below": {}}
    for comment in found:
        home = homes.of(comment.path)
        shelf = loose if home is None else shelves[comment.place].setdefault(home, Shelf())
        shelf[_displaced(comment) if home is None else comment.text] = None
    # Behind what stands on top anyway: that is often a licence.
    shelves["above"].setdefault((0, documents[0][0].paths[0]), Shelf()).update(loose)
    return "---\n".join(_written(index, lines, shelves) for index, lines in enumerate(documents))


def _displaced(comment: Comment) -> str:
    return f"# {dotted(comment.path)}: {comment.text.lstrip('#').strip()}" if comment.path else comment.text


def _written(
    index: int,
    lines: Sequence[Line],
    shelves: Mapping[Place, Mapping[Home, Shelf]],
) -> str:
    written: list[str] = []
    ends = _ends(lines, {path: words for (at, path), words in shelves["below"].items() if at == index})
    for at, line in enumerate(lines):
        own = [(index, path) for path in line.paths]
        written += [f"{line.indent}{words}" for key in own for words in shelves["above"].get(key, ())]
        notes = [words for key in own for words in shelves["beside"].get(key, ())]
        written.append(f"{line.text}  {' '.join(notes)}" if notes else line.text)
        written += [f"{indent}{words}" for indent, words in ends.get(at, ())]
    return "".join(f"{line}\n" for line in written)


def _ends(lines: Sequence[Line], below: Mapping[Path, Shelf]) -> dict[int, list[tuple[str, str]]]:
    """Comments that stand behind the last line of a field, by that line, with how far they are indented."""
    found: dict[int, list[tuple[str, str]]] = {}
    if not below:
        return found
    last, starts, paths = dict[Path, int](), dict[Path, str](), tuple[Path, ...]()
    for at, line in enumerate(lines):
        paths = line.paths or paths  # a line of a longer text is still part of the last field that began
        starts.update(dict.fromkeys(line.paths, line.indent))
        last.update((path[:length], at) for path in paths for length in range(1, len(path) + 1))
    for path, shelf in below.items():
        found.setdefault(last[path], []).extend((starts[path], words) for words in shelf)
    return found


def _entries(value: JSON, path: Path = ()) -> Iterator[tuple[Path, JSON]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key), item
        yield from _entries(item, (*path, key))


class Homes:
    """Where fields are now."""

    def __init__(self, old: JSON, new: Sequence[JSON]) -> None:
        self._old = old
        self._named: dict[tuple[str, bool], list[tuple[Home, JSON]]] = {}
        self._known: dict[Path, Home | None] = {(): None}
        self._looks = _MOST_LOOKS
        for index, document in enumerate(new):
            for path, value in _entries(document):
                self._named.setdefault(_called(path), []).append(((index, path), value))

    def of(self, path: Path) -> Home | None:
        if path not in self._known:
            self._known[path] = self._sought(path)
        return self._known[path]

    def _sought(self, path: Path) -> Home | None:
        """The same words for the same value in the surroundings that are most alike."""
        name, is_item = _called(path)
        every = [*self._named.get((name, is_item), ()), *self._named.get((_HOMES.get(name, ""), is_item), ())]
        self._looks -= len(every)
        if self._looks < 0:
            return None
        value = _value(self._old, path)
        same = [home for home, other in every if other == value]
        chosen = same or [home for home, _ in every]
        best = max(chosen, key=lambda home: (_likeness(path, home[1]), -home[0]), default=None)
        return None if best is None or (not same and not _is_certain(path, best[1])) else best


def _called(path: Path) -> tuple[str, bool]:
    """The last name in a path, and whether it is of an item of that."""
    return next((step for step in reversed(path) if isinstance(step, str)), ""), isinstance(path[-1], int)


def _is_certain(path: Path, other: Path) -> bool:
    """Is it the same field though its value is another one?"""
    return path == other or path[-1] in _HOMES or _likeness(path, other) > 1


def _likeness(path: Path, other: Path) -> int:
    """How many steps are the same, from the end."""
    mine = [step for step in reversed(path) if isinstance(step, str)]
    theirs = [step for step in reversed(other) if isinstance(step, str)]
    pairs = list(zip(mine, theirs, strict=False))
    return next((index for index, (one, two) in enumerate(pairs) if one != two), len(pairs))


def _value(value: JSON, path: Path) -> JSON:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
