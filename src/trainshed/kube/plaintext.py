"""Words as they may be shown: without what colours a terminal, moves its cursor or sets its title; pure."""

from __future__ import annotations

import re
from typing import Final

_SEQUENCES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, the cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but tabs and ends of lines; also what turns the direction of writing round."""
_SPACES: Final = re.compile(r"[\t\n\u2028\u2029]+")


def plain(text: str) -> str:
    """The words and their lines; a line that was written over is one of its own."""
    if text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _SEQUENCES.sub("", lines))


def one_line(text: str) -> str:
    """For a cell of a table."""
    return text if text.isprintable() else _SPACES.sub(" ", plain(text).rstrip("\n"))
