"""The service on a socket: serves until it is told to end, lets requests under way finish, then stops."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from trainshed.backend import accesslog, connections
from trainshed.backend import app as apps
from trainshed.backend.connections import BoundedProtocol
from trainshed.backend.plane import Plane
from trainshed.backend.settings import Settings
from trainshed.client.kubeconfig import Config

BACKLOG = 2048
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Certificate:
    """What HTTPS needs; without one the service speaks plain HTTP."""

    chain: Path
    key: Path


async def serve(
    settings: Settings,
    config: Config,
    listener: socket.socket,
    ready: Callable[[], None],
    certificate: Certificate | None = None,
) -> None:
    """Serve until cancelled."""
    accesslog.begin(settings.access_log)
    app = apps.build(settings, Plane(config))
    server = Server(_configured(app, settings, certificate))
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="serve")
    try:
        await _begun(server, serving)
        ready()
        await asyncio.shield(serving)
    finally:
        app.state.ending.set()
        server.should_exit = True
        await serving


class Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are heeded by whoever runs us."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Comes ten times a second."""
        if counter % 5 == 0:
            connections.look(self.server_state.connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)


async def _begun(server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
    while not server.started:
        if serving.done():
            await serving
            raise RuntimeError("the service ended while it started; its log says why")
        await asyncio.sleep(_LOOK_SECONDS)


def _configured(app: FastAPI, settings: Settings, certificate: Certificate | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
        # Whoever sends X-Forwarded-For would choose by whose name strangers are counted.
        proxy_headers=False,
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )
