"""The note a running process leaves in its data folder: which process it is, and where a server listens."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from trainshed.apiserver.access import privatefiles
from trainshed.compose import trouble
from trainshed.compose.processes import Process


@dataclass(frozen=True, slots=True)
class State:
    """What the notes of all parts have in common."""

    process: Process
    version: str
    started: str
    """RFC 3339, when it became ready."""
    settings: str = ""
    """A digest of the settings it was started with."""
    runner: str = ""
    url: str = ""
    """Where it listens, if it does."""


@dataclass(frozen=True, slots=True)
class ServerState:
    process: Process
    url: str
    host: str
    port: int
    version: str
    started: str
    """RFC 3339, when it became ready."""


_Note = TypeVar("_Note", State, ServerState)


def read(path: Path) -> ServerState | None:
    """The server's note, whoever wrote it; None when there is none or it cannot be understood.

    Raises `Trouble` when it may not be read: then nobody knows whether there is one.
    """
    return _read(path, ServerState)


def read_any(path: Path) -> State | None:
    """The note of any part, as far as all are alike."""
    return _read(path, State)


def running(path: Path) -> ServerState | None:
    """The note of a server that is alive; a stale one (crash, reboot, reused pid) counts as none."""
    return _alive(read(path))


def running_any(path: Path) -> State | None:
    return _alive(read_any(path))


def write(path: Path, state: State | ServerState) -> None:
    privatefiles.write(path, msgspec.json.format(msgspec.json.encode(asdict(state)), indent=1) + b"\n")


def remove(path: Path, process: Process) -> None:
    """Remove the note if it is this process's."""
    with contextlib.suppress(OSError, trouble.Trouble):
        found = read_any(path)
        if found is not None and found.process == process:
            path.unlink()


def _read(path: Path, form: type[_Note]) -> _Note | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=form)
    except PermissionError as error:
        raise trouble.unreadable(error, path) from error
    except (OSError, ValueError):
        return None


def _alive(found: _Note | None) -> _Note | None:
    return found if found is not None and found.process.is_alive else None
