"""Whole texts of manifests: what is converted is written anew with its comments, all else stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from trainshed.jobs import manifests
from trainshed.jobs.converting import comments, converting, writing
from trainshed.jobs.converting.budgets import Budget
from trainshed.jobs.converting.converting import Conversion
from trainshed.jobs.converting.findings import Finding
from trainshed.kube import documents
from trainshed.kube.objects import JSON

_LINE: Final = re.compile(r"\bline (\d+)(?=:)")
_REPEATED: Final = re.compile(r'line (\d+): key "([^\n]*)" already set in map')
_RENDER: Final = "a template has to be rendered first, by helm template or kustomize"


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    documents: tuple[JSON, ...]
    findings: tuple[Finding, ...]
    converted: int
    given: tuple[JSON, ...] = ()
    """The documents as they were."""


def convert(text: str, origin: str = "the text", budget: Budget | None = None) -> Text:
    """YAML of any number of documents, or JSON. What cannot be read stays; `origin` is what to call it.

    Raises `TooMuch` where a budget is given and does not suffice.
    """
    if text.lstrip()[:1] in ("{", "[") and (found := _json(text, origin, budget)) is not None:
        return found
    pieces = [_piece(piece, before, origin, budget) for before, piece in _numbered(text)]
    return Text(
        _joined([piece.text for piece in pieces]),
        tuple(document for piece in pieces for document in piece.documents),
        tuple(finding for piece in pieces for finding in piece.findings),
        sum(piece.converted for piece in pieces),
        tuple(document for piece in pieces for document in piece.given),
    )


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """The documents as they stand with their marks, each with how many lines there are before it."""
    before = 0
    for _, piece in manifests.pieces(text):
        yield before, piece
        before += piece.count("\n")


def _joined(pieces: list[str]) -> str:
    found: list[str] = []
    for piece in pieces:
        if found and not found[-1].endswith("\n") and not piece.startswith(("\n", "\r")):
            found.append("\n")
        found.append(piece)
    return "".join(found)


def _piece(piece: str, before: int, origin: str, budget: Budget | None) -> Text:
    repeated: list[str] = []
    try:
        value = None if manifests.says_nothing(piece) else _value(piece, repeated)
    except ValueError as error:
        said = _moved(str(error).removeprefix("yaml: "), before)
        advice = _RENDER if "{{" in piece else ""
        why = f"it is not YAML: {' '.join(said.split())[:200]}"
        return Text(piece, (), (Finding("not converted", origin, "", why, advice),), 0)
    if value is None:
        return Text(piece, (), (), 0)
    converting.spend(budget, value)
    found = converting.one(value)
    if not found.converted:
        return Text(piece, found.documents, found.findings, 0, (value,))
    findings = (*_of_repeated(_moved("".join(repeated), before), origin), *found.findings)
    return Text(_rewritten(piece, value, found), found.documents, findings, found.converted, (value,))


def _value(piece: str, repeated: list[str]) -> JSON:
    return documents.read_yaml(piece.encode(), repeated, alone=True)


def _moved(complaint: str, before: int) -> str:
    """With lines counted from the start of the whole text."""
    return _LINE.sub(lambda match: f"line {int(match[1]) + before}", complaint)


def _of_repeated(complaints: str, origin: str) -> Iterator[Finding]:
    """Of a key that is there twice, one value is written anew, and the other is lost."""
    for line, key in _REPEATED.findall(complaints):
        why = f"line {line}: it is there twice, and the last one counts, as in v1"
        yield Finding("not carried over", origin, key, why, "remove one of them")


def _rewritten(piece: str, value: JSON, found: Conversion) -> str:
    head = "---\n" if piece.startswith("---") else ""
    tail = "..." if piece.endswith("...") else ""
    written = [writing.lines(document) for document in found.documents]
    made = (
        head + comments.woven(written, value, found.documents, _comments(piece.replace("\r\n", "\n"))) + tail
    )
    return made.replace("\n", "\r\n") if "\r\n" in piece else made


def _comments(piece: str) -> list[comments.Comment]:
    try:
        return comments.read(piece) if "#" in piece else []
    except yaml.YAMLError:  # what the one reader takes and the other does not: comments are lost, no field is
        return []


def _json(text: str, origin: str, budget: Budget | None) -> Text | None:
    """None where it is no JSON: YAML may begin with a brace, too."""
    try:
        value = documents.read_json(data := text.encode())
    except ValueError:
        return None
    given = value if isinstance(value, list) else [value]
    found = converting.convert(given, budget)
    if not found.converted:
        return Text(text, found.documents, found.findings, 0, tuple(given))
    why = "it is there twice, and the last one counts, as in v1"
    twice = [
        Finding("not carried over", origin, path, why) for path in documents.find_duplicates(data, value)
    ]
    made: JSON = list(found.documents)
    if not isinstance(value, list):
        made = made[0] if len(made) == 1 else {"apiVersion": "v1", "kind": "List", "items": made}
    written = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    return Text(written, found.documents, (*twice, *found.findings), found.converted, tuple(given))
