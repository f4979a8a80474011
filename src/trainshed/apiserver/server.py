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
from types import FrameType

import uvicorn
import uvloop

from trainshed.apiserver import assembly
from trainshed.apiserver.access import kubeconfig
from trainshed.apiserver.app import Application
from trainshed.apiserver.connection import Connection

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 120
SHUTDOWN_SECONDS = 5
GOODBYE_SECONDS = 0.3
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
        running = assembly.running(settings.folder, settings.cache, settings.host, address.url)
        app = await stack.enter_async_context(running)
        server = _Server(_config(app, settings), app, lambda: ready(address))
        await server.serve(sockets=[listener])
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


def _config(app: Application, settings: ServerSettings) -> uvicorn.Config:
    certificates = assembly.certificates_in(settings.folder)
    return uvicorn.Config(
        app,
        loop="none",
        http=Connection,
        ws="wsproto",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ssl_certfile=certificates.certificate,
        ssl_keyfile=certificates.key,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        backlog=1024,
    )


def _calm_collector() -> None:
    """What was made so far stays for good: Python's cycle collector need not walk it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


class _Server(uvicorn.Server):
    """uvicorn that says when it listens, and ends watches before it waits for connections to close."""

    def __init__(self, config: uvicorn.Config, app: Application, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _calm_collector()
        try:
            self._ready()
        except BaseException:  # uvicorn closes only what it served
            for server in self.servers:
                server.close()
            raise

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signal again in the end: the store would never be closed."""
        loop = asyncio.get_running_loop()
        for sign in STOP_SIGNALS:
            loop.add_signal_handler(sign, self.handle_exit, sign, None)
        try:
            yield
        finally:
            for sign in STOP_SIGNALS:
                loop.remove_signal_handler(sign)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        hanging_up = asyncio.create_task(self._hang_up(), name="hang up")
        try:
            await super().shutdown(sockets)
        finally:
            hanging_up.cancel()

    async def _hang_up(self) -> None:
        """TLS waits for the other side's goodbye, which a client that is idle does not even read about."""
        while True:
            await asyncio.sleep(GOODBYE_SECONDS)
            for connection in list(self.server_state.connections):
                transport = connection.transport
                if transport.is_closing() and not transport.get_write_buffer_size():
                    transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.end_streams()
        super().handle_exit(sig, frame)
