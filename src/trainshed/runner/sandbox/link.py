"""The agent's side of the holder: starting it, asking it."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import socket
import struct
import sys
from dataclasses import asdict
from pathlib import Path

from trainshed.kube.objects import Object
from trainshed.runner.process import spawning, waiting
from trainshed.runner.sandbox import holder, wire
from trainshed.runner.sandbox.kit import Options

log = logging.getLogger(__name__)

_START_SECONDS = 30.0


class Link:
    """Asks the holder; one that has died is replaced, and joins the namespaces its predecessor left."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reviving: asyncio.Task[None] | None = None
        self.pid = 0
        """The holder, where we have started it ourselves."""

    async def start(self) -> Object:
        """The facts about the holder; one that still runs is used on."""
        return (await self.ask({"do": "hello"}))[0]

    async def ask(self, request: Object) -> tuple[Object, list[int]]:
        """The answer and the descriptors that came with it. Raises `OSError`."""
        answer, descriptors, connection = await self.converse(request)
        connection.close()
        return answer, descriptors

    async def converse(self, request: Object) -> tuple[Object, list[int], socket.socket]:
        """The same, with the connection left open for what else will be said."""
        connection = await self._connected()
        asked = _listener(connection)
        try:
            return await _said(connection, request)
        except (BrokenPipeError, ConnectionResetError):
            if await self._answering() == asked:
                raise
            return await _said(await self._connected(), request)  # it was about to die when it was asked

    async def _answering(self) -> int:
        """The holder that takes questions now; 0 while there is none."""
        try:
            connection = await self._connect()
        except ConnectionError:
            return 0
        with connection:
            return _listener(connection)

    async def _connected(self) -> socket.socket:
        try:
            return await self._connect()
        except ConnectionError:
            if self._reviving is None or self._reviving.done():
                self._reviving = asyncio.create_task(self._revive(), name="sandbox-holder-start")
            await asyncio.shield(self._reviving)  # whoever gives up: a half-started one must not be forgotten
            return await self._connect()

    async def _revive(self) -> None:
        if self.pid:
            log.warning("The sandboxes' holder is gone; starting another")
        await self._spawn()

    async def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            place = os.open(self._options.folder, os.O_RDONLY)
            try:
                path = f"/proc/self/fd/{place}/{holder.SOCKET}"
                await asyncio.get_running_loop().sock_connect(connection, path)
            finally:
                os.close(place)
        except OSError as error:
            connection.close()
            raise ConnectionRefusedError(error.errno or errno.ECONNREFUSED, "no holder answers") from error
        return connection

    async def _spawn(self) -> None:
        argv = (sys.executable, "-I", "-S", holder.__file__, self._options.folder)  # named for those who look
        given = json.dumps(asdict(self._options)).encode()
        words = os.path.join(self._options.folder, "holder.log")
        self.pid, ready = await spawning.answer(argv, given, words, _START_SECONDS)
        if ready != b"ready\n":
            raise OSError(f"sandboxes cannot be made here: {_last_words(self._options.folder)}")


def _last_words(folder: str) -> str:
    lines = Path(folder, "holder.log").read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "the holder ended at once"


def _listener(connection: socket.socket) -> int:
    """The process at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


async def _said(connection: socket.socket, request: Object) -> tuple[Object, list[int], socket.socket]:
    try:
        await asyncio.get_running_loop().sock_sendall(connection, wire.encode(request))
        answer, descriptors = await receive(connection)
    except BaseException:
        connection.close()
        raise
    return answer, descriptors, connection


async def receive(connection: socket.socket) -> tuple[Object, list[int]]:
    """The next message. Raises `ConnectionResetError` when there will be none."""
    assembly = wire.Assembly()
    while not assembly.is_complete:
        data, descriptors = await _piece(connection, assembly.missing)
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "the sandbox's supervisor ended without a word")
        assembly.add(data, descriptors)
    return assembly.message(), assembly.descriptors


async def _piece(connection: socket.socket, most: int) -> tuple[bytes, list[int]]:
    while True:
        try:
            data, descriptors, _, _ = socket.recv_fds(connection, most, 8)
        except BlockingIOError:
            await waiting.readable(connection.fileno())
        else:
            return data, descriptors
