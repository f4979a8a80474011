"""Starting parts as processes in the background, all at once, and waiting until each reports."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from trainshed.compose import interrupts, logs, trouble
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.interrupts import Noted
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import READY, START_SECONDS
from trainshed.compose.parts import BACKEND, SERVER, Part
from trainshed.compose.trouble import Trouble

END_SECONDS = 15.0


@dataclass(slots=True)
class Launched:
    part: Part
    child: subprocess.Popen[bytes]
    report: int
    """The descriptor its report comes from."""


def launch(part: Part, order: Order, *, terminal: bool = False) -> Launched:
    """The part's process. It holds the turn with us: if we are killed, it still counts as being started."""
    reading, writing = os.pipe()
    told = replace(order if part is BACKEND else order.for_others(), report=writing)
    # -P: a file in the folder `up` was called from must not pass for one of our modules.
    command = [sys.executable, "-P", "-m", part.module, told.written()]
    kept = tuple(number for number in (writing, told.turn, told.listener) if number is not None)
    try:
        with _output(part, order.folder, terminal) as output:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=kept,
                start_new_session=True,
                env=_environment(part),
            )
    except OSError as error:
        os.close(reading)
        raise trouble.from_os(error, order.folder.log_of(part.name)) from error
    finally:
        os.close(writing)
    return Launched(part, child, reading)


def _environment(part: Part) -> dict[str, str]:
    """Threads of the server get no memory of their own, of which each would keep a part that nobody uses."""
    return {"MALLOC_ARENA_MAX": "1", **os.environ} if part is SERVER else {**os.environ}


def await_ready(launched: Sequence[Launched], note: Noted, folder: DataFolder) -> bool:
    """Wait until every part has said that it is ready; False when a signal came first. Raises `Trouble`.

    Nobody needs to wait for the backend: its socket listens already, and requests wait there.
    """
    deadline = time.monotonic() + START_SECONDS
    waiting = {one.report: one for one in launched}
    while any(one.part is not BACKEND for one in waiting.values()):
        left = max(0.0, deadline - time.monotonic())
        heard = select.select([*waiting, note.wakeup], [], [], left)[0]
        if note.signal:
            return False
        for descriptor in heard or list(waiting):
            one = waiting.pop(descriptor)
            line = _line(descriptor) if heard else None
            if line != READY:
                raise _explained(line, one, folder)
    return True


def release(launched: Sequence[Launched]) -> None:
    """They live on without us; this keeps Python from warning that nobody waited for them."""
    for one in launched:
        os.close(one.report)
        one.child.returncode = 0


def end(launched: Sequence[Launched], *, at_once: Sequence[Part] = ()) -> None:
    """Have the children gone, however often somebody presses Ctrl-C meanwhile."""
    with interrupts.noted():
        for one in launched:
            os.close(one.report)
            one.child.kill() if one.part in at_once else one.child.terminate()
        for one in launched:
            try:
                one.child.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                one.child.kill()
                one.child.wait(END_SECONDS)


def _line(descriptor: int) -> str:
    """The line the child wrote, empty when it ended without one."""
    with os.fdopen(descriptor, encoding="utf-8", closefd=False) as pipe:
        return pipe.readline().strip()


def _explained(line: str | None, one: Launched, folder: DataFolder) -> Trouble:
    log = folder.log_of(one.part.name)
    if line is None:
        return Trouble(f"the {one.part.name} was not ready in {START_SECONDS:.0f} seconds", f"see {log}")
    code = one.child.wait(END_SECONDS)
    with contextlib.suppress(ValueError):
        return trouble.read(line)
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return Trouble(f"the {one.part.name} {ended} while it started", f"see {log}")


@contextmanager
def _output(part: Part, folder: DataFolder, terminal: bool) -> Iterator[int]:
    """The terminal, or the log file to append to; a large one is set aside first."""
    if terminal:
        yield sys.stderr.fileno()
        return
    log = folder.log_of(part.name)
    if log.exists() and log.stat().st_size > logs.MOST_BYTES:
        logs.set_aside(log)
    descriptor = logs.open_file(log)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
