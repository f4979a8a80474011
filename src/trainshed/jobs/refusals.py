"""Why a server refused the fields of an object, with what was probably meant; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from trainshed.controllers.trainjob.lints import Lint

_TYPED: Final = "failed to create typed patch object"
_COMPLAINT: Final = re.compile(r"\.(.+?): (?:field not declared in schema|expected )")
_WHICH: Final = re.compile(r"\[[^\]]*\]?")
"""One that is never closed goes to the end: to try again at each bracket in it would take forever."""


def reworded(refusal: str, lints: Sequence[Lint]) -> str:
    """Each complaint of an apply that was refused, in a preview's words where that finds the same field.

    Empty where it finds none of them: the server may be of another release than the schemas here.
    """
    complaints = _complaints(refusal)
    matches = map(_COMPLAINT.match, complaints)
    found = list(_found([match[1] if match else "" for match in matches], lints))
    if not any(found):
        return ""
    return "; ".join(mine or theirs for mine, theirs in zip(found, complaints, strict=True))


def _found(paths: Sequence[str], lints: Sequence[Lint]) -> Iterator[str]:
    """Ours for each of theirs, or nothing. Elements of one list are taken one after the other."""
    alike, forms = Counter[str](), [_plain(lint.path) for lint in lints]
    for path, form in zip(paths, map(_plain, paths), strict=True):
        same = [lint for lint in lints if lint.path == path]
        near = [lint for lint, other in zip(lints, forms, strict=True) if other == form]
        known = same or near[alike[form] :] or near
        alike[form] += 1
        yield f"{known[0].path}: {known[0].message}" if known else ""


def _complaints(refusal: str) -> list[str]:
    if not refusal.startswith(_TYPED):
        return []
    listed = refusal.partition("): ")[2].removeprefix("errors:")
    return [line.strip() for line in listed.splitlines() if line.strip()]


def _plain(path: str) -> str:
    """Without which element of a list it is: the server calls them by name, a preview counts them."""
    return _WHICH.sub("[]", path)
