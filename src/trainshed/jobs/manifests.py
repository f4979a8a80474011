"""Manifests in files: one or many documents, of which lists are taken apart.

A document that cannot be read hides none of its neighbours: `parse` says of each what it is or why not.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trainshed.kube import documents
from trainshed.kube.objects import JSON, Object

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_BREAKS = "\n\r\x85\u2028\u2029"
_MARK = re.compile(rf"(?<![^{_BREAKS}])(---|\.\.\.)(?=[ \t{_BREAKS}]|\Z)")
"""Where a document begins or ends; no text in a document may have such a line at its margin."""
_REPEATED = re.compile(r'line (\d+): (key "[^\n]*" already set in map)')


class CannotRead(Exception):
    """One line: which file, and why; and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Document:
    object: Object
    origin: str
    """Where it stands, for people."""
    repeated: tuple[str, ...] = ()
    """What it says of keys that occur more than once; of each the last one counts."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    origin: str
    why: str


Parsed = Document | Unreadable


def read(file: Path) -> list[Object]:
    """The objects in a file, or in all manifests of a folder; `-` is standard input. Raises `CannotRead`."""
    found = [parsed for path in files(file) for parsed in parse(content(path), str(path))]
    for wrong in found:
        if isinstance(wrong, Unreadable):
            raise CannotRead(f"{wrong.origin}: {wrong.why}")
    return [parsed.object for parsed in found if isinstance(parsed, Document)]


def files(place: Path, *, recursive: bool = False) -> list[Path]:
    """The manifests of a folder in the order of their names; of anything else itself."""
    if not place.is_dir():
        return [place]
    inside = place.rglob("*") if recursive else place.iterdir()
    return sorted(path for path in inside if path.suffix in SUFFIXES and path.is_file())


def content(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == STDIN else file.read_text(encoding="utf-8")
    except OSError as error:
        raise CannotRead(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CannotRead(f"{file} is not text: invalid UTF-8 at byte {error.start}") from error


# --- pure: text -> documents ------------------------------------------------------------------------------


def parse(text: str, origin: str) -> list[Parsed]:
    """All documents of a text, YAML or JSON, each readable or not."""
    found = [*_json(text, origin)] if text.lstrip()[:1] == "{" else []
    if not found or isinstance(found[0], Unreadable):  # YAML may begin with a brace, too
        found = [*_yaml(text, origin)]
    return found


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Where each document of a YAML text starts, and itself with its marks; joined they are the text."""
    start = 0
    for mark in _MARK.finditer(text):
        end = mark.start() if mark[1] == "---" else mark.end()
        if end > start:
            yield start, text[start:end]
        start = end
    if start < len(text):
        yield start, text[start:]


def _yaml(text: str, origin: str) -> Iterator[Parsed]:
    for start, piece in pieces(text):
        if _says_nothing(piece):
            continue
        # Empty lines in front, so that complaints count lines as the file does.
        data = ("\n" * text.count("\n", 0, start) + piece).encode()
        complaints: list[str] = []
        try:
            value = documents.read_yaml(data, complaints, alone=True)
        except ValueError as error:
            yield Unreadable(origin, f"it is not YAML: {_plain(str(error))}")
            continue
        repeated = [f"line {line}: {what}" for line, what in _REPEATED.findall("\n".join(complaints))]
        yield from _objects(value, origin, tuple(repeated))


def _says_nothing(piece: str) -> bool:
    """Whether there are only marks, blank lines, comments and directives."""
    return all(line.strip()[:1] in ("", "#", "%") for line in _MARK.sub("", piece).splitlines())


def _json(text: str, origin: str) -> Iterator[Parsed]:
    at, decoder = 0, json.JSONDecoder()
    while rest := text[at:].lstrip():
        at = len(text) - len(rest)
        try:
            _, end = decoder.raw_decode(text, at)
            data = text[at:end].encode()
            value = documents.read_json(data)
        except (ValueError, RecursionError) as error:
            yield Unreadable(origin, f"it is not JSON: {_plain(str(error))}")
            return
        repeated = [f'key "{path}" already set' for path in documents.find_duplicates(data, value)]
        yield from _objects(value, origin, tuple(repeated))
        at = end


def _objects(value: JSON, origin: str, repeated: tuple[str, ...]) -> Iterator[Parsed]:
    if value is None:
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        yield Unreadable(origin, _no_object(value, origin))
    elif value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _objects(item, origin, repeated)
    else:
        yield Document(value, origin, repeated)


def _no_object(value: JSON, origin: str) -> str:
    if Path(origin).stem.lower() == "kustomization":
        return "it is for kustomize; give its folder with -k"
    what = "a document without a kind" if isinstance(value, dict) else f"a {type(value).__name__}"
    return f"it has {what}, which is no Kubernetes object"


def _plain(message: str) -> str:
    return " ".join(message.removeprefix("yaml: ").split())[:200]
