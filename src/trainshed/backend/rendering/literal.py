"""Text that reaches a program as it is."""

from __future__ import annotations

import re

_SEEN = re.compile(r"\$(?=[$(])")


def unexpanded(text: str) -> str:
    """Text in which the kubelet finds no `$(NAME)` to replace: it halves what is doubled here."""
    return _SEEN.sub("$$", text)


def untemplated(word: str) -> str:
    """A word in which torchrun finds nothing to replace: it takes all it hands on for templates of Python."""
    return word.replace("$", "$$")
