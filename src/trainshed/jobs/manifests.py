"""Manifests in files: one or many documents, of which lists are taken apart.

A document that cannot be read hides none of its neighbours: `parse` says of each what it is or why not.
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trainshed.kube import documents
from trainshed.kube.objects import JSON, Object

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
PATIENCE = 10.0
"""Seconds that the writer of a named pipe has to open it."""
_SLICE = 0.05
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


def read(file: Path) -> list[Document]:
    """What is in a file, or in all manifests of a folder; `-` is standard input. Raises `CannotRead`."""
    found = [parsed for path in files(file) for parsed in parse(content(path), str(path))]
    for wrong in (*unfit(file), *found):
        if isinstance(wrong, Unreadable):
            raise CannotRead(f"{wrong.origin}: {wrong.why}")
    return [parsed for parsed in found if isinstance(parsed, Document)]


def files(place: Path, *, recursive: bool = False) -> list[Path]:
    """The manifests of a folder in the order of their names; of anything else itself."""
    return [path for path in _inside(place, recursive) if path.is_file()] if place.is_dir() else [place]


def unfit(place: Path, *, recursive: bool = False) -> list[Unreadable]:
    """What is called like a manifest in a folder and is none: links to nothing, pipes, sockets, devices."""
    if not place.is_dir():
        return []
    inside = _inside(place, recursive)
    return [
        Unreadable(str(path), _unfit(path)) for path in inside if not path.is_file() and not path.is_dir()
    ]


def _inside(place: Path, recursive: bool) -> list[Path]:
    try:
        inside = place.rglob("*") if recursive else place.iterdir()
        return sorted(path for path in inside if path.suffix in SUFFIXES)
    except OSError as error:
        raise CannotRead(f"cannot read {place}: {error.strerror}") from error


def _unfit(path: Path) -> str:
    if path.is_symlink() and not path.exists():
        return f"it is a link to {os.readlink(path)}, which is not there; mend or remove it"
    return "it is no file but a pipe, socket or device; to read it, name it itself with -f"


def content(file: Path) -> str:
    """The text of a file, a pipe or standard input."""
    shown = "standard input" if str(file) == STDIN else str(file)
    try:
        data = _stdin() if str(file) == STDIN else _bytes(file)
        text = data.decode()
    except OSError as error:
        raise CannotRead(f"cannot read {shown}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        why = f"{shown} is not text: line {line} has invalid UTF-8 at byte {error.start}"
        raise CannotRead(why, "save it as UTF-8; iconv -t utf-8 -f <its encoding> does so") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _stdin() -> bytes:
    if sys.stdin is None:
        raise CannotRead("standard input is closed", "pipe manifests into it, or name a file with -f")
    return sys.stdin.buffer.read()


def _bytes(file: Path) -> bytes:
    # Only a pipe that has a name can lack a writer; that of a process substitution is open at both ends.
    return _from_pipe(file) if Path(os.path.realpath(file)).is_fifo() else file.read_bytes()


def _from_pipe(file: Path) -> bytes:
    """All that is written to a named pipe, if somebody opens it in time; however slow they are then."""
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        first = _awaited(pipe.fileno())
        if first is None:
            why = f"nobody wrote to the pipe {file} within {PATIENCE:.0f} s"
            raise CannotRead(why, "start what writes to it, or pipe that into -f -")
        os.set_blocking(pipe.fileno(), True)
        return first + pipe.read()


def _awaited(pipe: int) -> bytes | None:
    """What came first from a pipe, maybe nothing yet; None if nobody opened its other end."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    for _ in range(int(PATIENCE / _SLICE)):
        is_told = bool(poll.poll(_SLICE * 1000))
        try:
            first = os.read(pipe, 65536)
        except BlockingIOError:  # somebody is there and has not written yet
            return b""
        if first or is_told:
            return first
    return None


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
        if says_nothing(piece):
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


def says_nothing(piece: str) -> bool:
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
