"""Starting, finding and stopping the server of a data folder, one starter at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from trainshed.compose import processes, serverprocess, statefile, trouble
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.serverprocess import Listen
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import Trouble

START_SECONDS = 60.0
STOP_SECONDS = 15.0
LOG_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Started:
    state: ServerState
    already: bool
    """It was running before."""


def start(folder: DataFolder, listen: Listen) -> Started:
    """Have a server running in the background; returns when it answers. Raises `Trouble`."""
    folder.make()
    with _turn(folder):
        found = statefile.running(folder.state)
        if found is not None:
            return Started(found, already=True)
        _spawn(folder, listen)
        found = statefile.running(folder.state)
    if found is None:
        raise Trouble("the server ended right after its start", f"see {folder.log}")
    return Started(found, already=False)


def run(folder: DataFolder, listen: Listen, ready: Callable[[ServerState], None]) -> Started | None:
    """Serve in this process until a signal ends it; a server that already runs is returned instead."""
    folder.make()
    with ExitStack() as turn:
        turn.enter_context(_turn(folder))
        found = statefile.running(folder.state)
        if found is not None:
            return Started(found, already=True)

        def announce(state: ServerState) -> None:
            turn.close()
            ready(state)

        serverprocess.run(folder, listen, announce)
    return None


def stop(folder: DataFolder) -> tuple[str, ServerState] | None:
    """End the server; how it ended, or None when none was running. Raises `Trouble`."""
    if not folder.root.is_dir():
        return None
    with _turn(folder):
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
    return statefile.running(folder.state)


@contextmanager
def _turn(folder: DataFolder) -> Iterator[None]:
    """Held by one starter or stopper at a time; the others wait. The kernel lets go when a holder dies."""
    try:
        lock = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise trouble.from_os(error, folder.lock) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _spawn(folder: DataFolder, listen: Listen) -> None:
    """Start the server's process and wait until it reports that it is ready. Raises `Trouble` if not."""
    reading, writing = os.pipe()
    asked = {"root": str(folder.root), "cache": str(folder.cache), "report": writing}
    arguments = json.dumps({**asked, "host": listen.host, "port": listen.port})
    # -P: a file in the folder `up` was called from must not pass for one of our modules.
    command = [sys.executable, "-P", "-m", serverprocess.__name__, arguments]
    try:
        with _log(folder) as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(writing,),
                start_new_session=True,
            )
    except OSError as error:
        os.close(reading)
        raise trouble.from_os(error, folder.log) from error
    finally:
        os.close(writing)
    line = _await_line(reading, START_SECONDS)
    if line == serverprocess.READY:
        # It lives on without us; this keeps Python from warning that nobody waited for it.
        child.returncode = 0
        return
    raise _explained(line, child, folder)


def _await_line(descriptor: int, seconds: float) -> str | None:
    """The line the child wrote, empty when it ended without one; None when it said nothing in time."""
    with os.fdopen(descriptor, encoding="utf-8") as pipe:
        if not select.select([pipe], [], [], seconds)[0]:
            return None
        return pipe.readline().strip()


def _explained(line: str | None, child: subprocess.Popen[bytes], folder: DataFolder) -> Trouble:
    if line is None:
        child.kill()
        child.wait()
        return Trouble(f"the server was not ready in {START_SECONDS:.0f} seconds", f"see {folder.log}")
    code = child.wait()
    with contextlib.suppress(ValueError):
        return trouble.read(line)
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return Trouble(f"the server {ended} while it started", f"see {folder.log}")


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
