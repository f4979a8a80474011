"""Names of images."""

from __future__ import annotations


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
