"""The server's own process: runs the API server in a data folder, says when it is ready or why it is not.

`python -m trainshed.compose.serverprocess` is what `up` starts in the background; `run` is `up --foreground`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from trainshed import __version__
from trainshed.compose import processes, statefile, trouble
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import Trouble

log = logging.getLogger(__name__)

READY = "ready"


@dataclass(frozen=True, slots=True)
class Listen:
    host: str = "127.0.0.1"
    port: int = 6443
    """0 for any free one."""


def run(folder: DataFolder, listen: Listen, ready: Callable[[ServerState], None]) -> None:
    """Serve until a signal ends it. Raises `Trouble` when the server cannot start."""
    # Imported here: commands that only start or ask a server must not pay for the server's imports.
    from trainshed.apiserver import server
    from trainshed.apiserver.access.signing import BrokenKey
    from trainshed.apiserver.access.tls import BrokenCertificates
    from trainshed.kube.faults import Fault

    os.umask(0o077)
    me = processes.this()

    def announce(address: server.Address) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        state = ServerState(me, address.url, address.host, address.port, __version__, now)
        statefile.write(folder.state, state)
        ready(state)

    settings = server.ServerSettings(folder.root, folder.cache, listen.host, listen.port)
    try:
        server.serve(settings, announce)
    except server.CannotListen as error:
        raise _cannot_listen(error, listen) from error
    except (BrokenCertificates, BrokenKey) as error:
        raise Trouble(str(error)) from error
    except Fault as error:
        raise Trouble(error.message) from error
    except OSError as error:
        raise trouble.from_os(error, Path(error.filename) if error.filename else folder.root) from error
    finally:
        statefile.remove(folder.state, me)


def _cannot_listen(error: Exception, listen: Listen) -> Trouble:
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
        hint = "use --port 0 for any free port, or stop the program that listens there"
        return Trouble(f"port {listen.port} on {listen.host} is in use by another program", hint)
    return Trouble(str(error), "choose another address with --bind and --port")


def main() -> int:
    """Arguments: one JSON object with root, cache, host, port and the descriptor to report to."""
    asked = json.loads(sys.argv[1])
    descriptor = int(asked["report"])
    os.set_inheritable(descriptor, False)
    report = os.fdopen(descriptor, "w", encoding="utf-8")
    folder = DataFolder(Path(asked["root"]), Path(asked["cache"]))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Nobody's folder stays busy, or vanishes under us, because a server was once started from it.
    os.chdir(folder.root)

    def ready(state: ServerState) -> None:
        log.info("listening on %s, process %s, version %s", state.url, state.process.pid, state.version)
        _say(report, READY)

    try:
        run(folder, Listen(asked["host"], asked["port"]), ready)
    except Trouble as error:
        log.error("%s", error.message, exc_info=error.__cause__)
        _say(report, error.written())
        return error.code
    except Exception as error:
        log.exception("the server failed")
        failed = Trouble(
            f"the server failed: {type(error).__name__}: {error}", f"see {folder.log}", trouble.FAILED
        )
        _say(report, failed.written())
        return failed.code
    return 0


def _say(report: TextIO, line: str) -> None:
    """Tell the process that started us, once; it may be gone by now."""
    if not report.closed:
        with contextlib.suppress(BrokenPipeError), report:
            report.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
