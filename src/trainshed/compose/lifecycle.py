"""Starting, finding and stopping the server of a data folder, one starter at a time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from trainshed.compose import interrupts, processes, serverprocess, statefile, trouble, turns
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.interrupts import Noted
from trainshed.compose.listening import Listen
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import HERE, PROGRAM, Trouble

START_SECONDS = serverprocess.START_SECONDS
STOP_SECONDS = 15.0
TURN_SECONDS = START_SECONDS + STOP_SECONDS
GLANCE_SECONDS = 20.0
LOG_BYTES = 10_000_000

Announce = Callable[[ServerState], None]


def start(folder: DataFolder, listen: Listen, ready: Announce) -> ServerState | None:
    """Have a server running in the background; `ready` is called when it answers.

    One that was running before is returned instead. Raises `Trouble`. Whatever ends this before `ready` is
    called, a signal for example, ends the new server too.
    """
    folder.make()
    with turns.taken(folder, TURN_SECONDS, make=True) as turn:
        found = _found(folder, listen)
        if found is None:
            _spawn(folder, listen, turn, ready)
    return found


def run(folder: DataFolder, listen: Listen, ready: Announce) -> ServerState | None:
    """Serve in this process until a signal ends it; a server that already runs is returned instead."""
    folder.make()
    with ExitStack() as turn:
        turn.enter_context(turns.taken(folder, TURN_SECONDS, make=True))
        found = _found(folder, listen)
        if found is not None:
            return found

        def announce(state: ServerState) -> None:
            turn.close()
            ready(state)

        serverprocess.run(folder, listen, announce)
    return None


def stop(folder: DataFolder) -> tuple[str, ServerState] | None:
    """End the server; how it ended, or None when none was running. Raises `Trouble`."""
    with turns.taken(folder, TURN_SECONDS):
        found = statefile.running(folder.state)
        if found is None:
            return None
        try:
            outcome = processes.stop(found.process, STOP_SECONDS)
        except PermissionError as error:
            raise Trouble(
                f"process {found.process.pid} belongs to another user", "stop it as that user"
            ) from error
        except TimeoutError as error:
            raise Trouble(
                str(error), "it may hang on a broken disk; a reboot ends it", trouble.FAILED
            ) from error
        statefile.remove(folder.state, found.process)
    return outcome, found


def find(folder: DataFolder) -> ServerState | None:
    """The server that runs, after one that is being started or stopped has got there. Raises `Trouble`."""
    turns.await_quiet(folder, GLANCE_SECONDS)
    return statefile.running(folder.state)


def _found(folder: DataFolder, listen: Listen) -> ServerState | None:
    found = statefile.running(folder.state)
    if found is not None and listen.differs_from(found.host, found.port):
        raise Trouble(
            f"it already runs, at {found.url} (process {found.process.pid}), not where you asked for",
            f"stop it first with {PROGRAM} down{HERE}, or leave out --port and --bind to use it as it is",
        )
    return found


def _spawn(folder: DataFolder, listen: Listen, turn: int | None, ready: Announce) -> None:
    """Start the server's process and wait until it reports that it is ready. Raises `Trouble` if not."""
    child = None
    try:
        with interrupts.noted() as note:
            child, reading = _launch(folder, listen, turn)
            found = _await_ready(child, reading, note, folder)
            if found is not None:
                # It lives on without us; this keeps Python from warning that nobody waited for it.
                child.returncode = 0
                child = None
                ready(found)
                note.signal = 0  # it came too late
    except BaseException:
        if child is not None:
            _end(child)
        raise


def _await_ready(
    child: subprocess.Popen[bytes], reading: int, note: Noted, folder: DataFolder
) -> ServerState | None:
    """The server, or None when a signal came first. Raises `Trouble`."""
    line = _await_line(reading, note, START_SECONDS)
    if note.signal:
        return None
    if line != serverprocess.READY:
        raise _explained(line, child, folder)
    found = statefile.running(folder.state)
    if found is None:
        raise Trouble("the server ended right after its start", f"see {folder.log}")
    return found


def _launch(folder: DataFolder, listen: Listen, turn: int | None) -> tuple[subprocess.Popen[bytes], int]:
    """The server's process, and the descriptor that its report comes from.

    It holds the turn with us: if we are killed, it still counts as being started until it is ready.
    """
    reading, writing = os.pipe()
    asked = {"root": str(folder.root), "cache": str(folder.cache), "report": writing, "turn": turn}
    arguments = json.dumps({**asked, "host": listen.host, "port": listen.port})
    # -P: a file in the folder `up` was called from must not pass for one of our modules.
    command = [sys.executable, "-P", "-m", serverprocess.__name__, arguments]
    kept = (writing,) if turn is None else (writing, turn)
    try:
        with _log(folder) as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=kept,
                start_new_session=True,
            )
    except OSError as error:
        os.close(reading)
        raise trouble.from_os(error, folder.log) from error
    finally:
        os.close(writing)
    return child, reading


def _await_line(descriptor: int, note: Noted, seconds: float) -> str | None:
    """The line the child wrote, empty when it ended without one; None when it said nothing in time."""
    with os.fdopen(descriptor, encoding="utf-8") as pipe:
        heard = select.select([descriptor, note.wakeup], [], [], seconds)[0]
        return pipe.readline().strip() if descriptor in heard else None


def _explained(line: str | None, child: subprocess.Popen[bytes], folder: DataFolder) -> Trouble:
    if line is None:
        return Trouble(f"the server was not ready in {START_SECONDS:.0f} seconds", f"see {folder.log}")
    code = child.wait(STOP_SECONDS)
    with contextlib.suppress(ValueError):
        return trouble.read(line)
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return Trouble(f"the server {ended} while it started", f"see {folder.log}")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Have the child gone, however often somebody presses Ctrl-C meanwhile."""
    with interrupts.noted():
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(STOP_SECONDS)


@contextmanager
def _log(folder: DataFolder) -> Iterator[int]:
    """The log file to append to; a large one is set aside first."""
    if folder.log.exists() and folder.log.stat().st_size > LOG_BYTES:
        os.replace(folder.log, folder.log.with_name(f"{folder.log.name}.1"))
    descriptor = os.open(folder.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
