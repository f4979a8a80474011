"""Names of images."""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_ID: Final = re.compile("[a-f0-9]{64}")
"""What an image is called by those who have it; a registry has no such name."""
_LONGEST: Final = 255 + 1 + 128
"""Of a name and its tag."""
_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_REFERENCE: Final = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?(?:@{_DIGEST})?", re.A
)


def is_reference(image: str) -> bool:
    """Whether a registry could have an image of this name."""
    name, _, digest = image.partition("@")
    if len(name) > _LONGEST or _ID.fullmatch(image):
        return False
    return _REFERENCE.fullmatch(image) is not None and _is_whole(digest)


def _is_whole(digest: str) -> bool:
    """Whether a digest is as long as its kind; of one nobody knows that cannot be told."""
    kind, _, digits = digest.partition(":")
    length = _DIGITS.get(kind)
    return length is None or (len(digits) == length and digits == digits.lower())


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
