"""The server's own process: runs the API server in a data folder, says when it is ready or why it is not.

`python -m trainshed.compose.serverprocess` is what `up` starts in the background; `run` is `up --foreground`.
"""

from __future__ import annotations

import errno
import logging
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from trainshed import __version__
from trainshed.apiserver import ahead
from trainshed.compose import partprocess, parts, ports, processes, statefile, trouble, vigil
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.listening import EVERYWHERE, Listen
from trainshed.compose.orders import Order
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import PROGRAM, Trouble

log = logging.getLogger("trainshed.compose.serverprocess")  # also where this is the main module


def run(folder: DataFolder, listen: Listen, ready: Callable[[ServerState], None]) -> None:
    """Serve until a signal ends it. Raises `Trouble` when the server cannot start."""
    os.umask(0o077)
    schemas = ahead.begin(folder.cache)
    # Imported here: commands that only start or ask a server must not pay for the server's imports.
    from trainshed.apiserver import server
    from trainshed.apiserver.access.signing import BrokenKey
    from trainshed.apiserver.access.tls import BrokenCertificates
    from trainshed.apiserver.stored import StoreFault
    from trainshed.kube.faults import Fault

    me = processes.this()

    def announce(address: server.Address) -> None:
        state = ServerState(me, address.url, address.host, address.port, __version__, partprocess.now())
        statefile.write(folder.state, state)
        vigil.begin([folder.state, folder.database])
        _log_address(state)
        ready(state)

    host, port = listen.address
    settings = server.ServerSettings(folder.root, folder.cache, host, port, folder.door, schemas)
    try:
        server.serve(settings, announce)
    except server.CannotListen as error:
        raise cannot_listen(error, host, port) from error
    except (BrokenCertificates, BrokenKey, StoreFault) as error:
        raise Trouble(error.what, error.hint) from error
    except Fault as error:
        raise Trouble(error.message) from error
    except OSError as error:
        raise trouble.from_os(error, Path(error.filename) if error.filename else folder.root) from error
    finally:
        statefile.remove(folder.state, me)


def cannot_listen(error: Exception, host: str, port: int) -> Trouble:
    number = getattr(error.__cause__, "errno", None)
    if number == errno.EADDRINUSE:
        return _port_taken(host, port)
    if number == errno.EACCES and port < 1024:
        return Trouble(str(error), "ports below 1024 are the superuser's; choose another one with --port")
    if number == errno.EADDRNOTAVAIL:
        return Trouble(str(error), "--bind takes an address of this machine; 0.0.0.0 means all of them")
    return Trouble(str(error), "choose another address with --bind and --port")


def _port_taken(host: str, port: int) -> Trouble:
    who = ports.holder(host, port)
    way_out = "use --port 0 for any free port"
    if who.folder is None:
        stop = "stop the program that listens there"
    elif who.is_lost:
        stop = f"wait a few seconds: its data folder was removed, so it stops by itself (or: kill {who.pid})"
    else:
        stop = f"stop it with {PROGRAM} down --data-dir {shlex.quote(str(who.folder))}"
    return Trouble(f"port {port} on {host} is in use by {who}", f"{way_out}, or {stop}")


def serve(order: Order, ready: Callable[[], None]) -> None:
    run(order.folder, Listen(order.host or None, order.port), lambda state: ready())


def _log_address(state: ServerState) -> None:
    where = f"every interface ({state.host}), here {state.url}" if state.host in EVERYWHERE else state.url
    log.info("listening on %s, process %s, version %s", where, state.process.pid, state.version)


if __name__ == "__main__":
    sys.exit(partprocess.main(parts.SERVER, serve))
