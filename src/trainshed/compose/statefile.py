"""The note a running server leaves in its data folder: which process it is and where it listens."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from trainshed.apiserver.access import privatefiles
from trainshed.compose import trouble
from trainshed.compose.processes import Process


@dataclass(frozen=True, slots=True)
class ServerState:
    process: Process
    url: str
    host: str
    port: int
    version: str
    started: str
    """RFC 3339, when it became ready."""


def read(path: Path) -> ServerState | None:
    """The note, whoever wrote it; None when there is none or it cannot be understood.

    Raises `Trouble` when it may not be read: then nobody knows whether there is one.
    """
    try:
        body = json.loads(path.read_bytes())
        process = Process(int(body["process"]["pid"]), str(body["process"]["born"]))
        port = int(body["port"])
        url, host, version, started = (str(body[key]) for key in ("url", "host", "version", "started"))
    except PermissionError as error:
        raise trouble.unreadable(error, path) from error
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return ServerState(process, url, host, port, version, started)


def running(path: Path) -> ServerState | None:
    """The note of a server that is alive; a stale one (crash, reboot, reused pid) counts as none."""
    found = read(path)
    return found if found is not None and found.process.is_alive else None


def write(path: Path, state: ServerState) -> None:
    privatefiles.write(path, (json.dumps(asdict(state), indent=1) + "\n").encode())


def remove(path: Path, process: Process) -> None:
    """Remove the note if it is this process's."""
    with contextlib.suppress(OSError, trouble.Trouble):
        found = read(path)
        if found is not None and found.process == process:
            path.unlink()
