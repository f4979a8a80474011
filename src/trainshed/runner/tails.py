"""What a container said last: its termination message, or the end of its log."""

from __future__ import annotations

import os
from pathlib import Path

from trainshed.kube import verdicts
from trainshed.runner.engine import Exit
from trainshed.runner.logs.lines import Renderer

MOST_MESSAGE = 4096
MOST_TAIL = 2048
_MOST_LINES = 80
_LOOK_BACK = 32 * 1024


def words_of(exit: Exit, termination_log: Path, log: Path) -> str:
    """What is told of a run that has ended, whether or not an agent was there.

    What the engine knows of its end is none of the program's words, and comes before them.
    """
    said = last_words(termination_log, log, exit.code)
    return verdicts.by_agent(exit.message, said) if exit.message else said


def last_words(termination_log: Path | None, log: Path, code: int) -> str:
    """The message the program left; else, where it failed, the last lines of its log.

    Upstream looks at the log only with terminationMessagePolicy FallbackToLogsOnError. A verdict needs the
    cause of every failure, and nobody sets that policy before the first one.
    """
    said = _read(termination_log, MOST_MESSAGE) if termination_log is not None else ""
    return said or (tail(_end_of(log)) if code else "")


def _read(path: Path, most: int) -> str:
    try:
        with path.open("rb") as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""


def _end_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOOK_BACK))
            found = file.read(_LOOK_BACK)
    except OSError:
        return b""
    return found if size <= _LOOK_BACK else found.partition(b"\n")[2]


def tail(block: bytes) -> str:
    """The last whole lines of a piece of a log file, without stamps, as much as a status may hold.

    A launcher may say more after the program's own end than there is room for: then the line that names the
    cause comes first.
    """
    shown = Renderer().render(block).decode(errors="replace")
    kept = _last_lines(shown, MOST_TAIL)
    first = verdicts.telling_line(shown)
    if not first or verdicts.telling_line(kept) == first or len(first.encode()) > MOST_TAIL // 2:
        return kept
    above = f"{first}\n{verdicts.GAP}\n"
    return above + _last_lines(shown, MOST_TAIL - len(above.encode()))


def _last_lines(shown: str, room: int) -> str:
    kept: list[str] = []
    left = room
    for line in reversed(shown.splitlines(keepends=True)[-_MOST_LINES:]):
        if len(line.encode()) > left:
            break
        kept.append(line)
        left -= len(line.encode())
    return "".join(reversed(kept)) or shown[-room:]
