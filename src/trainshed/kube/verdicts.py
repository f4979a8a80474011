"""The telling line of a program's last words: what to show when there is room for one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from trainshed.kube.plaintext import plain

LONGEST: Final = 240
GAP: Final = "…"
"""Stands alone between a line that was taken from further above and the end of a text."""

_PREFIX: Final = re.compile(r"^\s*(?:(\[[\w.-]*rank\d+\]:?|\[\w+\d\]:)|\S+ (?:stdout|stderr) [FP])\s?")
"""What launchers put before each line of a process: `[rank1]:`, `[default0]:`, a log's own columns.

These last have a time in them, so only the others tell processes apart.
"""
_CLASS: Final = (
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Expired|Warning)"
)
_EXCEPTION: Final = re.compile(rf"^{_CLASS}(?:: .*|:)?$")
_MEMBER: Final = re.compile(rf"^\s*\|\s+(?={_CLASS}(?::|$))")
"""How the interpreter draws one exception of a group."""
_UNREADABLE: Final = re.compile(r"^(?:SyntaxError|IndentationError|TabError)\b")
_PLACE: Final = re.compile(r'^(?:\|\s+)?File "(?:[^"]*/)?([^"/]+)", line (\d+)$')
"""Where a program cannot be read; lines of a call go on with `, in main`."""
_WORDLESS: Final = re.compile(rf"^{_CLASS}:?$")
_CALL: Final = re.compile(r'^(?:\|\s+)?File "(?:[^"]*/)?([^"/]+)", line (\d+), in ')
"""Where an exception came from; told of one that says nothing itself, such as a bare `assert`."""
_PICTURE: Final = 8
"""How many lines of the same process there may be between the two; all are, where none has a prefix."""
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
    r"|^terminate called|^what\(\): |^[\w./-]+: error: "
)
_FATAL: Final = "fatal: "
_LOST: Final = re.compile(
    r"Could not read from remote|hung up unexpectedly|early EOF|index-pack failed|unpack-objects failed"
    r"|clone of .* into submodule path|protocol error"
)
"""What git adds when something else went wrong."""
_POD_NAME: Final = re.compile(r'\bpods? "[^"]*"', re.IGNORECASE)
_SIGNAL: Final = re.compile(r"Signal \d+ \(\w+\) received by PID \d+")
_ACCOUNT: Final = re.compile(r"failed \(exitcode: -?\d+\) local_rank: ")
"""Where torchrun begins to tell of a process that failed; all above is the program's."""
_TABLE: Final = re.compile(r"^exitcode\s*:\s*(-?\d+)")
_ROOT: Final = "Root Cause (first observed failure)"
"""Above it torchrun lists processes that it has ended itself."""
_TABLE_RANK: Final = re.compile(r"^rank\s*:\s*(\d+) \(local_rank")
_TRAILER: Final = re.compile(
    r"^Traceback \(most recent call last\)|^\[?[EWIF]\d{4} \d\d:|^={20,}$|^-{20,}$|^(?:mpirun|prterun|prun)\b"
    rf"|^{GAP}$|Warning: |^warnings\.warn\(|^Exception ignored in|^During handling of the above|^wandb: "
)
"""How launchers, libraries and the interpreter begin what they add to the program's own end."""
_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)?")
_BY_AGENT: Final = "ended by the node agent: "
_HINTS: Final = {
    "Bus error": "is /dev/shm too small?",
    "No space left on device": "is a volume or /dev/shm full?",
}


class _Line(str):
    """A line without its prefix, which says whose it is. It stays in here: others get plain text."""

    whose: str = ""


def cause(message: str) -> str:
    """One line, at most `LONGEST` characters; empty for a program that said nothing."""
    lines = _lines(message)
    return _short(_found(lines) or _any(lines))


def telling_line(text: str) -> str:
    """The line of a long text that names the cause, as it stands there; empty where none is known to.

    Only what stands above it, and would be lost, is added: where a program cannot be read.
    """
    lines = _lines(text)
    found = _exception_line(lines) or _tool(lines) or _own_end(lines)
    return str(_located(found, lines)) if found in text else ""


def telling(message: str) -> str:
    """The cause, where a line is known for telling one; empty where all are ordinary lines."""
    return _short(_found(_lines(message)))


def by_agent(why: str, message: str) -> str:
    """The message of a container that was ended for a reason: that comes before the program's last words."""
    return f"{_BY_AGENT}{why}\n{message}".rstrip("\n")


def agents_reason(message: str) -> str:
    """Why the agent has ended a container, as `by_agent` has written it; empty where it has not."""
    first, _, _ = message.partition("\n")
    return _short(plain(first.removeprefix(_BY_AGENT))) if first.startswith(_BY_AGENT) else ""


def nameless(refusal: str, job: str) -> str:
    """Why a pod of a job was not made; each attempt has one of another name, and the words stay the same."""
    return _POD_NAME.sub(f'pods "{job}-*"', refusal, count=1)


def is_echo(text: str) -> bool:
    """Whether a failure is likely the consequence of another one, on another node."""
    return _ECHOES.search(text) is not None


def _lines(message: str) -> list[_Line]:
    return [line for said in plain(message).splitlines() if (line := _line(said))]


def _line(said: str) -> _Line:
    prefix = _PREFIX.match(said)
    line = _Line(_MEMBER.sub("", said[prefix.end() :] if prefix else said).strip())
    line.whose = (prefix and prefix[1]) or ""
    return line


def _found(lines: Sequence[_Line]) -> str:
    return next((line for look in _LOOKS if (line := look(lines))), "")


def _exception(lines: Sequence[_Line]) -> str:
    """The last exception of the program itself, not of its launcher.

    It may have been handled, or its message has several lines, or what was printed before comes out at the
    end only: nobody can tell these apart, so the last line is told beside it.
    """
    found = _exception_line(lines)
    if not found:
        return ""
    place = len(lines) - 1 - lines[::-1].index(found)
    after = takewhile(lambda line: not _TRAILER.search(line) and not is_echo(line), lines[place + 1 :])
    last = next(_worded(list(after)), "")
    located = _located(found, lines)
    both = f"{located}; last line: {last}"
    return both if last and len(both) <= LONGEST and not _is_progress(last, lines) else located


def _exception_line(lines: Sequence[str]) -> str:
    return _last(lines, lambda line: bool(_EXCEPTION.match(line)) and not is_echo(line))


def _located(found: str, lines: Sequence[_Line]) -> str:
    """With file and line, where they stand above an exception only; `tails` may have put both first."""
    form = _PLACE if _UNREADABLE.match(found) else _CALL if _WORDLESS.match(found) else None
    if form is None:
        return found
    at = len(lines) - 1 - lines[::-1].index(found)
    above = (line for line in reversed(lines[:at]) if line.whose == lines[at].whose)
    place = next((place for line in islice(above, _PICTURE) if (place := form.match(line))), None)
    if place:
        return f"{found} ({place[1]}, line {place[2]})"
    return lines[0] if lines[0].startswith(f"{found} (") else found


def _is_progress(line: str, lines: Sequence[str]) -> bool:
    """Whether others differ from it in their numbers only: `step 7`, maybe of another process."""
    form = _NUMBERS.sub("0", line)
    return sum(_NUMBERS.sub("0", other) == form for other in lines) > 1


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
    found = next((found for line in reversed(_root(lines)) if (found := _SIGNAL.search(line))), None)
    return found[0] if found else ""


def _table(lines: Sequence[str]) -> str:
    """torchrun's own account, where the process it is about left no words that are known to tell."""
    root = _root(lines)
    code = next((found for line in root if (found := _TABLE.search(line))), None)
    rank = next((found for line in root if (found := _TABLE_RANK.search(line))), None)
    if code is None:
        return ""
    end = f"process {rank[1]} ended with exit code {code[1]}" if rank else f"exit code {code[1]}"
    last = _own_end(lines)
    return f"{end}; last line: {last}" if last else end


def _own_end(lines: Sequence[str]) -> str:
    """The program's last line above torchrun's account; `tails` may have put it first."""
    if GAP in lines:
        above = lines[: lines.index(GAP)]
    else:
        start = next((at for at in reversed(range(len(lines))) if _ACCOUNT.search(lines[at])), 0)
        above = [line for line in lines[:start] if not _TRAILER.search(line)]
    last = next(_worded(above), "")
    return "" if any(is_echo(line) or _is_step(last, line) for line in above) else last


def _is_step(line: str, other: str) -> bool:
    """Whether both tell of progress: they differ in their numbers, and in nothing else."""
    return line != other and _NUMBERS.sub("0", line) == _NUMBERS.sub("0", other)


def _root(lines: Sequence[str]) -> Sequence[str]:
    """Of torchrun's account, what it says of the process that failed first."""
    start = next((at for at, line in enumerate(lines) if line.startswith(_ROOT)), 0)
    return lines[start:]


def _echo(lines: Sequence[str]) -> str:
    return _last(lines, lambda line: bool(_EXCEPTION.match(line)))


def _any(lines: Sequence[str]) -> str:
    return next(_worded(lines), "")


def _worded(lines: Sequence[str]) -> Iterator[str]:
    """From the end, lines that are more than a ruler or a bracket."""
    return (line for line in reversed(lines) if re.search(r"\w", line))


_LOOKS: Final[tuple[Callable[[Sequence[_Line]], str], ...]] = (_exception, _tool, _signal, _table, _echo)


def _last(lines: Sequence[str], claim: Callable[[str], bool]) -> str:
    return next((line for line in reversed(lines) if claim(line)), "")


def _hinted(line: str) -> str:
    hint = next((hint for words, hint in _HINTS.items() if words in line), "")
    return f"{line} ({hint})" if hint else line


def _short(line: str) -> str:
    line = str(_hinted(line))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
