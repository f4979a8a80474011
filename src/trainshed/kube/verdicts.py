"""The telling line of a program's last words: what to show when there is room for one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

LONGEST: Final = 240

_PREFIX: Final = re.compile(r"^\s*(?:\[[\w.-]*rank\d+\]:?|\[\w+\d+\]:|\S+ (?:stdout|stderr) [FP])\s?")
"""What launchers put before each line of a process: `[rank1]:`, `[default0]:`, a log's own columns."""
_EXCEPTION: Final = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Expired|Warning)"
    r"(?:: .*|:)?$"
)
_ECHOES: Final = re.compile(
    r"ChildFailedError|SignalException|DistBackendError|RendezvousConnectionError|RendezvousClosedError"
    r"|[Cc]onnection (?:closed|reset|refused|was)|[Bb]roken pipe|Socket Timeout|Abort"
    r"|^process \d+ ended with exit code"
)
"""Complaints of a process whose neighbour failed first."""
_TOOLS: Final = re.compile(
    r"command not found|No such file or directory|Permission denied|not found in \$PATH|can't open file"
    r"|^fatal: |unrecognized arguments|invalid choice|syntax error|No module named|Segmentation fault"
    r"|Bus error|[Oo]ut of memory|No space left on device|^Killed$|ORTE was unable|^ERROR: "
)
_FATAL: Final = "fatal: "
_LOST: Final = re.compile(
    r"Could not read from remote|hung up unexpectedly|early EOF|index-pack failed|unpack-objects failed"
    r"|clone of .* into submodule path|protocol error"
)
"""What git adds when something else went wrong."""
_SIGNAL: Final = re.compile(r"Signal \d+ \(\w+\) received by PID \d+")
_TABLE: Final = re.compile(r"^exitcode\s*:\s*(-?\d+)")
_TABLE_RANK: Final = re.compile(r"^rank\s*:\s*(\d+) \(local_rank")
_HINTS: Final = {
    "Bus error": "is /dev/shm too small?",
    "No space left on device": "is a volume or /dev/shm full?",
}


def cause(message: str) -> str:
    """One line, at most `LONGEST` characters; empty for a program that said nothing."""
    lines = [_PREFIX.sub("", line).strip() for line in message.splitlines()]
    lines = [line for line in lines if line]
    found = next((line for look in _LOOKS if (line := look(lines))), "")
    return _clipped(_hinted(found))


def is_echo(text: str) -> bool:
    """Whether a failure is likely the consequence of another one, on another node."""
    return _ECHOES.search(text) is not None


def _exception(lines: Sequence[str]) -> str:
    """The last exception of the program itself, not of its launcher."""
    return _last(lines, lambda line: bool(_EXCEPTION.match(line)) and not is_echo(line))


def _tool(lines: Sequence[str]) -> str:
    found = _last(lines, lambda line: _TOOLS.search(line) is not None)
    return _of_git(lines) if found.startswith(_FATAL) else found


def _of_git(lines: Sequence[str]) -> str:
    """Its first complaint with a cause; ssh's, where git only says that it lost the other side."""
    complaints = [line for line in lines if line.startswith(_FATAL)]
    telling = next((line for line in complaints if not _LOST.search(line)), "")
    if telling:
        return telling
    before = lines[: lines.index(complaints[0])]
    return _last(before, lambda line: not line.startswith("Cloning into")) or complaints[0]


def _signal(lines: Sequence[str]) -> str:
    found = next((found for line in reversed(lines) if (found := _SIGNAL.search(line))), None)
    return found[0] if found else ""


def _table(lines: Sequence[str]) -> str:
    """torchrun's own account, where the process it is about left no words."""
    code = next((found for line in lines if (found := _TABLE.search(line))), None)
    rank = next((found for line in lines if (found := _TABLE_RANK.search(line))), None)
    if code is None:
        return ""
    return f"process {rank[1]} ended with exit code {code[1]}" if rank else f"exit code {code[1]}"


def _echo(lines: Sequence[str]) -> str:
    return _last(lines, lambda line: bool(_EXCEPTION.match(line)))


def _any(lines: Sequence[str]) -> str:
    return next(_worded(lines), "")


def _worded(lines: Sequence[str]) -> Iterator[str]:
    """From the end, lines that are more than a ruler or a bracket."""
    return (line for line in reversed(lines) if re.search(r"\w", line))


_LOOKS: Final[tuple[Callable[[Sequence[str]], str], ...]] = (_exception, _tool, _signal, _table, _echo, _any)


def _last(lines: Sequence[str], claim: Callable[[str], bool]) -> str:
    return next((line for line in reversed(lines) if claim(line)), "")


def _hinted(line: str) -> str:
    hint = next((hint for words, hint in _HINTS.items() if words in line), "")
    return f"{line} ({hint})" if hint else line


def _clipped(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
