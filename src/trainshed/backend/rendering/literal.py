"""Text that reaches a program as it is."""

from __future__ import annotations

import re

_SEEN = re.compile(r"\$(?=[$(])")


def unexpanded(text: str) -> str:
    """Text in which the kubelet finds no `$(NAME)` to replace: it halves what is doubled here."""
    return _SEEN.sub("$$", text)
