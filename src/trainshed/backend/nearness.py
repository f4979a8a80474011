"""What may have been meant by a word that is not known; pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """`num_nodes` for numNodes, `Failed` for faild; empty where nothing is near."""
    plain = {_plain(one): one for one in known}
    near = difflib.get_close_matches(_plain(word)[:100], plain, n=1, cutoff=0.6)
    return plain[near[0]] if near else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    found = nearest(word, known)
    return f'did you mean "{found}"?' if found else ""


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
