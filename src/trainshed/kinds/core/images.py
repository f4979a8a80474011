"""Names of images."""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?(?:@{_DIGEST})?", re.A
)


def is_reference(image: str) -> bool:
    """Whether a registry could have an image of this name."""
    return _REFERENCE.fullmatch(image) is not None


def pull_policy(image: str) -> str:
    """The pull policy of an image nobody gave one: `latest`, said or meant, is fetched each time."""
    return "Always" if tag(image) == "latest" else "IfNotPresent"


def tag(image: str) -> str:
    """The tag of an image; `latest` where neither tag nor digest is given, empty for a digest or no name."""
    name, at, _ = image.strip().partition("@")
    last = name.rpartition("/")[2]
    _, colon, found = last.partition(":")
    if colon:
        return found
    return "" if at or not name else "latest"
