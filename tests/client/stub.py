"""A server on a real socket that does exactly what a test tells it to, down to the bytes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from trainshed.client.kubeconfig import Config, User
from trainshed.kube.objects import JSON, Object, encode


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {key: values[0] for key, values in parse_qs(urlsplit(self.target).query).items()}


@dataclass
class Wire:
    """The way back: whole answers, or pieces of one."""

    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, code: int, body: JSON, **headers: str) -> None:
        data = body if isinstance(body, bytes) else encode(body)
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        lines += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        await self.send(f"HTTP/1.1 {code} X\r\n{lines}\r\n".encode() + data)

    async def begin(self) -> None:
        await self.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )

    async def chunk(self, data: bytes) -> None:
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def event(self, type: str, obj: Object) -> None:
        await self.chunk(encode({"type": type, "object": obj}) + b"\n")

    async def end(self) -> None:
        await self.send(b"0\r\n\r\n")

    def cut(self) -> None:
        self.writer.transport.abort()


Reply = Callable[[Seen, Wire], Awaitable[None]]


@dataclass
class Stub:
    server: str = ""
    seen: list[Seen] = field(default_factory=list)

    def config(self, user: User = User(), authority: bytes = b"", tls_name: str = "") -> Config:  # noqa: B008
        return Config(self.server, user=user, authority=authority, tls_name=tls_name)


@asynccontextmanager
async def serving(
    reply: Reply, socket: Path | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Stub]:
    """A stub that answers every request by `reply` for as long as the block runs."""
    stub, running = Stub(), set[asyncio.Task[None]]()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            while (request := await _read(reader)) is not None:
                stub.seen.append(request)
                await reply(request, Wire(writer))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            running.discard(task)
            writer.transport.abort()

    if socket:
        server = await asyncio.start_unix_server(converse, socket)
        stub.server = f"unix://{socket}"
    else:
        server = await asyncio.start_server(converse, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        stub.server = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield stub
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode().strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Seen(method, target, headers, await reader.readexactly(int(headers.get("content-length", 0))))
