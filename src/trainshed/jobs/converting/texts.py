"""Whole texts of manifests: what is converted is written anew with its comments, all else stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from trainshed.jobs.converting import comments, converting, writing
from trainshed.jobs.converting.converting import Conversion
from trainshed.jobs.converting.findings import Finding
from trainshed.kube import documents
from trainshed.kube.objects import JSON

_MARK: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_RENDER: Final = "a template has to be rendered first, by helm template or kustomize"


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    documents: tuple[JSON, ...]
    findings: tuple[Finding, ...]
    converted: int
    given: tuple[JSON, ...] = ()
    """The documents as they were."""


def convert(text: str, origin: str = "the text") -> Text:
    """YAML of any number of documents, or JSON. What cannot be read stays; `origin` is what to call it."""
    if text.lstrip()[:1] in ("{", "[") and (found := _json(text)) is not None:
        return found
    pieces = [_piece(piece, text.count("\n", 0, start), origin) for start, piece in _pieces(text)]
    return Text(
        _joined([piece.text for piece in pieces]),
        tuple(document for piece in pieces for document in piece.documents),
        tuple(finding for piece in pieces for finding in piece.findings),
        sum(piece.converted for piece in pieces),
        tuple(document for piece in pieces for document in piece.given),
    )


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The documents as they stand, each with the line that separates it from the one before."""
    marks = [match.start() for match in _MARK.finditer(text)]
    for start, end in zip([0, *marks], [*marks, len(text)], strict=True):
        if end > start:
            yield start, text[start:end]


def _joined(pieces: list[str]) -> str:
    found = ""
    for piece in pieces:
        found += ("\n" if found and not found.endswith("\n") else "") + piece
    return found


def _piece(piece: str, before: int, origin: str) -> Text:
    try:
        # Empty lines in front, so that complaints count lines as the text does.
        value = documents.read_yaml(("\n" * before + _MARK.sub("   ", piece, count=1)).encode())
    except ValueError as error:
        why = f"it is not YAML: {' '.join(str(error).removeprefix('yaml: ').split())[:200]}"
        advice = _RENDER if "{{" in piece else ""
        return Text(piece, (), (Finding("not converted", origin, "", why, advice),), 0)
    if value is None:
        return Text(piece, (), (), 0)
    found = converting.one(value)
    if not found.converted:
        return Text(piece, found.documents, found.findings, 0, (value,))
    return Text(_rewritten(piece, value, found), found.documents, found.findings, found.converted, (value,))


def _rewritten(piece: str, value: JSON, found: Conversion) -> str:
    head = "---\n" if _MARK.match(piece) else ""
    written = [writing.lines(document) for document in found.documents]
    return head + comments.woven(written, value, found.documents, _comments(piece))


def _comments(piece: str) -> list[comments.Comment]:
    try:
        return comments.read(piece)
    except yaml.YAMLError:  # what the one reader takes and the other does not: comments are lost, no field is
        return []


def _json(text: str) -> Text | None:
    """None where it is no JSON: YAML may begin with a brace, too."""
    try:
        value = documents.read_json(text.encode())
    except ValueError:
        return None
    given = value if isinstance(value, list) else [value]
    found = converting.convert(given)
    if not found.converted:
        return Text(text, found.documents, found.findings, 0, tuple(given))
    made: JSON = list(found.documents)
    if not isinstance(value, list):
        made = made[0] if len(made) == 1 else {"apiVersion": "v1", "kind": "List", "items": made}
    written = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    return Text(written, found.documents, found.findings, found.converted, tuple(given))
