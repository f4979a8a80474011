"""Lines of a running job on the terminal: one colour per rank, news between them on standard error."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence

from trainshed.cli import invocation
from trainshed.kube.plaintext import plain

_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
_MOST_LABEL = 24


def say(text: str) -> None:
    """News for the person who waits; kept apart from the job's own lines."""
    _print(text, "2")


def say_end(text: str, *, good: bool) -> None:
    _print(text, "32" if good else "31")


def say_follow(name: str) -> None:
    say(f"follow it with {invocation.command_there('logs', '-f', name)}")


def line(label: str, rank: int, text: str) -> None:
    lines(label, rank, (text,))


def lines(label: str, rank: int, texts: Sequence[str]) -> None:
    shown = f"[{label[:_MOST_LABEL]}]"
    if sys.stdout.isatty():
        shown = _styled(shown, str(_COLOURS[rank % len(_COLOURS)]))
    sys.stdout.write("".join(f"{shown} {text}\n" for text in texts))


async def pieces(label: str, rank: int, stream: AsyncIterator[bytes]) -> None:
    """A log that comes in pieces of any size, as lines."""
    rest = b""
    async for piece in stream:
        *whole, rest = (rest + piece).split(b"\n")
        lines(label, rank, [line.decode(errors="replace") for line in whole])
    if rest:
        line(label, rank, rest.decode(errors="replace"))


def flush() -> None:
    sys.stdout.flush()


def _print(text: str, style: str) -> None:
    """What comes from objects may hold anything; only we style it."""
    shown = plain(text)
    print(_styled(shown, style) if sys.stderr.isatty() else shown, file=sys.stderr, flush=True)


def _styled(text: str, style: str) -> str:
    return f"\033[{style}m{text}\033[0m"
