"""Following a job on the terminal: its lines, its news, Ctrl-C, and the exit code of its end."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from trainshed.cli import console, invocation, remedies
from trainshed.cli.plane import Plane, stop_alone_told, stop_told
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import Delete, LogOptions
from trainshed.compose.trouble import Trouble
from trainshed.jobs import following
from trainshed.jobs.applying import gone
from trainshed.jobs.following import Ended, Heard, Lines, News
from trainshed.jobs.jobkinds import TRAINJOB, JobKind
from trainshed.jobs.summary import TRAINJOBS, Summary
from trainshed.kube import faults

INTERRUPTED = 130
STOP_SECONDS = 60.0
PATIENCE_SECONDS = 3.0
"""So long nobody wonders whether anything happens."""
LOOK_SECONDS = 0.5
"""Between two looks whether there is still somebody who could tell."""
_LEFT_EARLY = re.compile("Error waiting on exit barrier|failed to shutdown the rendezvous")
"""Of torchrun, on a node that leaves after the first one: that has taken the store along."""
_NO_FAILURE = (
    "what torchrun says of its exit barrier or rendezvous is no failure: "
    "the first node had left, and its store with it"
)
_QUESTION = "Stop the job? [Y]es, [n]o, [d]etach (Ctrl-C again stops it): "


@dataclass(slots=True)
class _Wish:
    """What Ctrl-C and the answer to it asked for."""

    asked: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: str = ""
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no question is open: nothing else is printed below one."""

    def __post_init__(self) -> None:
        self.quiet.set()


@dataclass(slots=True)
class _Said:
    """What the person who waits has been told already."""

    news: str = ""
    restart: str = ""
    remedy: str = ""
    """What to say of a job that waits for what there is not; empty once said."""
    has_run: bool = False
    left_early: bool = False
    """Whether torchrun has complained of how it ends: a wall of lines that looks like a failure."""


async def to_the_end(
    client: Client,
    name: str,
    *,
    rank: int | None = None,
    remove: bool = False,
    owned: bool = True,
    remedy: str = "",
    afterwards: Callable[[], str] | None = None,
    kind: JobKind = TRAINJOB,
    options: LogOptions = following.ALL_LINES,
    begin: Callable[[], Awaitable[str]] | None = None,
    plane: Plane | None = None,
) -> int:
    """Print what happens until the job has ended; its exit code.

    Ctrl-C asks once, then stops the job; one that is not `owned` by this command goes on without it. That
    holds while the job begins, too: `begin` makes it, and its answer is the first news. Where that takes long
    it is broken off.
    The `remedy` is for a job that needs what there is not, however long it waits; what `afterwards` answers
    is said of one that was stopped. Raises `Trouble` where the `plane` was stopped.
    """
    said = _Said(remedy=remedy)
    with _ctrl_c(owned) as wish, stop_alone_told(plane):
        if begin is not None:
            making = asyncio.ensure_future(begin())
            if not await _is_made(making, name, wish):
                return INTERRUPTED
            news = await making
            await wish.quiet.wait()
            console.say(news)
        stream = following.follow(
            client,
            name,
            client.namespace,
            rank=rank,
            kind=kind,
            wish=options,
            logs=plane.logs if plane else None,
        )
        code = await _print_all(_until(stream, wish, plane), kind.address(name), said)
    if wish.outcome == "detach":
        console.say_follow(name)
        return 0
    if wish.outcome == "leave":
        return INTERRUPTED
    if wish.outcome == "stop":
        return await _interrupt(client, name, afterwards)
    if code is None:
        raise stop_told(kind.address(name), has_run=said.has_run)
    if remove:
        await _delete(client, name, "deleting")
    return code


async def _is_made(making: asyncio.Future[str], name: str, wish: _Wish) -> bool:
    """Whether there is a job to tell of, or to stop; where a signal kept it from being made, that is said."""
    while not making.done() and wish.outcome in ("", "detach"):  # one that is left to itself is made first
        wish.changed.clear()
        await _first(making, wish.changed)
    if wish.outcome:
        wish.changed.set()
    if wish.outcome in ("", "detach"):
        return True
    await _end_soon(making)
    return _has_begun(making, name)


async def _first(making: asyncio.Future[str], event: asyncio.Event) -> None:
    happened = asyncio.ensure_future(event.wait())
    await asyncio.wait((making, happened), return_when=asyncio.FIRST_COMPLETED)
    happened.cancel()


async def _end_soon(making: asyncio.Future[str]) -> None:
    await asyncio.wait((making,), timeout=PATIENCE_SECONDS)  # it may be all but made
    for _ in range(2):  # the first has it take back what it sent, the second waits no longer for that
        if making.cancel():
            await asyncio.wait((making,), timeout=PATIENCE_SECONDS)


def _has_begun(making: asyncio.Future[str], name: str) -> bool:
    try:
        making.result()
    except (faults.Fault, Trouble) as refused:
        console.say(f"nothing was started: {refused}")
    except (asyncio.CancelledError, asyncio.InvalidStateError, Failure):
        look = invocation.command_there("describe", name)
        console.say(f"gave up before there was an answer; {name} may be there all the same: see {look}")
    else:
        return True
    return False


async def _print_all(stream: AsyncIterator[Heard], name: str, said: _Said) -> int | None:
    """The exit code; None where the job had not ended."""
    async for heard in stream:
        if isinstance(heard, Lines):
            said.has_run = True
            said.left_early = said.left_early or any(map(_LEFT_EARLY.search, heard.texts))
            console.lines(heard.source.label, heard.source.rank, heard.texts)
        elif isinstance(heard, News):
            _say_news(heard, said)
        else:
            console.flush()
            if said.left_early and heard.summary is not None and heard.summary.state == "Complete":
                console.say(_NO_FAILURE)
            return say_end(name, heard.summary)
    return None


async def _until(
    stream: AsyncGenerator[Heard, None], wish: _Wish, plane: Plane | None
) -> AsyncIterator[Heard]:
    """The stream, until Ctrl-C decided otherwise or all is stopped. Lines are flushed at each pause."""
    changed = asyncio.ensure_future(wish.changed.wait())
    getting: asyncio.Future[Heard] | None = None
    try:
        while not wish.changed.is_set():
            getting = asyncio.ensure_future(anext(stream))
            if not getting.done():
                await asyncio.sleep(0)
            if not getting.done():
                console.flush()
                await _pause(getting, changed, plane)
            if not getting.done():
                return
            heard = getting.result()
            await wish.quiet.wait()
            if wish.changed.is_set():
                return
            yield heard
            if isinstance(heard, Ended):
                return
    finally:
        changed.cancel()
        if getting is not None and not getting.done():
            getting.cancel()
            await asyncio.gather(getting, return_exceptions=True)
        await stream.aclose()


async def _pause(
    getting: asyncio.Future[Heard], changed: asyncio.Future[Literal[True]], plane: Plane | None
) -> None:
    """Until there is something, or nothing can come any more."""
    seconds = LOOK_SECONDS if plane else None
    while not (getting.done() or changed.done()):
        await asyncio.wait((getting, changed), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if plane and plane.is_stopped:
            return


def _say_news(news: News, said: _Said) -> None:
    """Tell what changed, each thing once."""
    said.has_run = said.has_run or news.ready > 0
    text = news.summary.message
    if news.summary.state == "Running":
        all_run = news.pods and news.ready == news.pods
        text = f"running: {news.pods} pod{'s' if news.pods > 1 else ''}" if all_run else ""
    if news.summary.is_finished or not text or text == said.news:
        return
    said.news = text
    if told := _restart(text, said) if news.summary.state == "Restarting" else text:
        console.flush()
        console.say(told)
    if said.remedy and remedies.is_lacking(text):
        console.say(said.remedy)
        said.remedy = ""


def _restart(text: str, said: _Said) -> str:
    """Each restart once, with its cause: lines of the program may be between it and the one before."""
    which, _, _ = text.partition(": ")
    if which == said.restart:
        return ""
    said.restart = which
    return text


def say_end(name: str, summary: Summary | None) -> int:
    if summary is None:
        console.say_end(f"{name} was deleted", good=False)
        return 1
    good = summary.state == "Complete"
    console.say_end(f"{name}: {summary.state}{_after(summary)}: {summary.verdict}", good=good)
    return summary.exit_code


def _after(summary: Summary) -> str:
    """` after 9 s and 3 restarts`; a failure says also that it was the first try."""
    took = ""
    if summary.created and summary.finished:
        took = f" after {(summary.finished - summary.created).total_seconds():.0f} s"
    if summary.restarts:
        times = f"{summary.restarts} restart{'s' if summary.restarts > 1 else ''}"
        return f"{took} and {times}" if took else f" after {times}"
    return took if summary.state == "Complete" else f"{took}, at the first try"


# --- Ctrl-C -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _ctrl_c(owned: bool) -> Iterator[_Wish]:
    loop, wish = asyncio.get_running_loop(), _Wish()
    if owned:
        loop.add_signal_handler(signal.SIGINT, _interrupted, loop, wish)
    else:
        loop.add_signal_handler(signal.SIGINT, _decide, wish, "leave")
    loop.add_signal_handler(signal.SIGTERM, _decide, wish, "stop" if owned else "leave")
    try:
        yield wish
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
        _stop_listening(loop)


def _interrupted(loop: asyncio.AbstractEventLoop, wish: _Wish) -> None:
    wish.asked += 1
    if wish.asked > 1 or not sys.stdin.isatty():
        return _decide(wish, "stop")
    wish.quiet.clear()
    console.flush()
    sys.stderr.write(f"\n{_QUESTION}")
    sys.stderr.flush()
    loop.add_reader(sys.stdin, _answered, loop, wish)


def _answered(loop: asyncio.AbstractEventLoop, wish: _Wish) -> None:
    answer = sys.stdin.readline().strip().lower()
    _stop_listening(loop)
    wish.asked = 0
    wish.quiet.set()
    if answer in ("y", "yes", ""):
        _decide(wish, "stop")
    elif answer in ("d", "detach"):
        _decide(wish, "detach")


def _stop_listening(loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(ValueError, OSError):
        loop.remove_reader(sys.stdin)


def _decide(wish: _Wish, outcome: str) -> None:
    wish.outcome = outcome
    wish.changed.set()
    wish.quiet.set()


async def _interrupt(client: Client, name: str, afterwards: Callable[[], str] | None) -> int:
    if await _delete(client, name, "stopping"):
        more = afterwards() if afterwards else ""
        console.say(f"stopped and deleted {name}{'; ' if more else ''}{more}")
    return INTERRUPTED


async def _delete(client: Client, name: str, doing: str) -> bool:
    """Delete the job and wait until its pods have ended; whether they have."""
    console.say(f"{doing} {name}")
    try:
        await client.delete(TRAINJOBS, name, client.namespace, Delete(propagation="Foreground"))
        waiting = asyncio.ensure_future(gone(client, TRAINJOBS, name, client.namespace))
        if not (await asyncio.wait([waiting], timeout=PATIENCE_SECONDS))[0]:
            console.say(f"its programs have some time to end; Ctrl-C again leaves {name} to do so by itself")
        async with asyncio.timeout(STOP_SECONDS):
            await waiting
    except faults.NotFound:
        pass
    except TimeoutError:
        console.say(f"still {doing} {name}; that goes on")
        return False
    return True
