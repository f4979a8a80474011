"""The server process: put the parts together, listen, say when ready, stop cleanly on a signal."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import uvloop

from trainshed.aio import unixsockets
from trainshed.apiserver import assembly
from trainshed.apiserver.access import kubeconfig
from trainshed.apiserver.ahead import Wait
from trainshed.apiserver.http.serving import Server

log = logging.getLogger(__name__)

FINISH_SECONDS = 1.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    folder: Path
    """The data folder: database, certificates, tokens, audit log."""
    cache: Path
    """Generated schemas; may be deleted at any time."""
    host: str = "127.0.0.1"
    port: int = 6443
    """0 means any free one."""
    nearby: Path | None = None
    """A socket beside it, without TLS as only our own user may open it; tokens are needed all the same."""
    schemas: Wait = lambda: None
    """Waits for schemas that somebody is making already."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @property
    def url(self) -> str:
        """Where clients on this machine reach it, also when it listens on every address."""
        return kubeconfig.server_url(self.host, self.port)


class CannotListen(Exception):
    """The address is taken or not ours to listen on."""


Ready = Callable[[Address], None]


def serve(settings: ServerSettings, ready: Ready) -> None:
    """Run until SIGTERM or SIGINT. Raises before `ready` what keeps the server from starting."""
    raise_file_limit()
    gc.disable()  # until everything is made that stays
    uvloop.run(_serve(settings, ready))


def raise_file_limit() -> None:
    """Each watch holds a connection: take all the file descriptors this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _serve(settings: ServerSettings, ready: Ready) -> None:
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen(settings.host, settings.port))
        address = Address(settings.host, listener.getsockname()[1])
        running = assembly.running(
            settings.folder, settings.cache, settings.host, address.url, settings.schemas
        )
        app = await stack.enter_async_context(running)
        server = Server(app)
        with _stop_signals() as asked:
            await server.start(listener, _tls(settings.folder))
            if settings.nearby is not None:
                await server.start(unixsockets.listen(settings.nearby), None)
                stack.callback(settings.nearby.unlink, missing_ok=True)
            try:
                ready(address)
                _calm_collector()  # takes a while, in which nobody need wait for us
                await asked.wait()
            finally:
                await server.stop()
                await app.finish(FINISH_SECONDS)
        log.info("stopped")


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listener


def _tls(folder: Path) -> ssl.SSLContext:
    certificates = assembly.certificates_in(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    return context


def _calm_collector() -> None:
    """What was made so far stays for good: Python's cycle collector need not walk it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 50)


@contextmanager
def _stop_signals() -> Iterator[asyncio.Event]:
    """Set once somebody asks the process to end; the store has to be closed first."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for sign in STOP_SIGNALS:
        loop.add_signal_handler(sign, asked.set)
    try:
        yield asked
    finally:
        for sign in STOP_SIGNALS:
            loop.remove_signal_handler(sign)
