"""Why a server refused the fields of an object, with what was probably meant; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from trainshed.controllers.trainjob.lints import Lint

_TYPED: Final = "failed to create typed patch object"
_COMPLAINT: Final = re.compile(r"\.(.+?): (?:field not declared in schema|expected )")
_WHICH: Final = re.compile(r"\[[^\]]*\]")


def reworded(refusal: str, lints: Sequence[Lint]) -> str:
    """Each complaint of an apply that was refused, in a preview's words where that finds the same field.

    Empty where it finds none of them: the server may be of another release than the schemas here.
    """
    ours = {_plain(lint.path): f"{lint.path}: {lint.message}" for lint in lints}
    complaints = _complaints(refusal)
    found = [ours.get(_plain(match[1])) if (match := _COMPLAINT.match(one)) else None for one in complaints]
    if not any(found):
        return ""
    return "; ".join(mine or theirs for mine, theirs in zip(found, complaints, strict=True))


def _complaints(refusal: str) -> list[str]:
    if not refusal.startswith(_TYPED):
        return []
    listed = refusal.partition("): ")[2].removeprefix("errors:")
    return [line.strip() for line in listed.splitlines() if line.strip()]


def _plain(path: str) -> str:
    """Without which element of a list it is: the server calls them by name, a preview counts them."""
    return _WHICH.sub("[]", path)
