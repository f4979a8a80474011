"""What probes and hooks do in a container: run a command, ask a web server, try a port, or sleep."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainshed.kinds.reading import entries, mapping, number, texts
from trainshed.kube import verdicts
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, text
from trainshed.runner.engine import CannotStart, Engine, NotRunning

_MOST_OUTPUT: Final = 10 * 1024
_PART: Final = 64 * 1024
_LATE_SECONDS: Final = 0.5
_AGENT: Final = "kube-probe/1.35"


@dataclass(frozen=True, slots=True)
class Answer:
    is_good: bool
    words: str = ""

    def failure_of(self, what: str) -> str:
        """`its liveness probe failed: HTTP probe failed with statuscode: 500`, in one line."""
        cause = verdicts.cause(self.words)
        return f"its {what} failed: {cause}" if cause else f"its {what} failed"


@dataclass(frozen=True, slots=True)
class Target:
    """The container something is done in."""

    engine: Engine
    uid: str
    container: Object
    env: Mapping[str, str]

    @property
    def name(self) -> str:
        return text(self.container, "name")


async def act(target: Target, action: Object, within: float) -> Answer:
    """Do what a probe or a hook says; never raises for what the container does."""
    try:
        async with asyncio.timeout(within):
            return await _act(target, action)
    except TimeoutError:
        command = texts(action, "exec", "command")
        what = f"command {command!r} timed out" if command else "timed out"
        return Answer(False, f"{what} after {within:g}s")
    except (NotRunning, CannotStart, OSError, ValueError) as failed:
        return Answer(False, str(failed))


async def _act(target: Target, action: Object) -> Answer:
    if isinstance(action.get("exec"), dict):
        return await _run(target, texts(action, "exec", "command"))
    if isinstance(action.get("httpGet"), dict):
        return await _get(target, mapping(action, "httpGet"))
    if isinstance(action.get("tcpSocket"), dict):
        (await target.engine.connect(target.uid, _port(target, mapping(action, "tcpSocket")))).close()
        return Answer(True)
    if isinstance(action.get("sleep"), dict):
        await asyncio.sleep(number(action, "sleep", "seconds") or 0)
        return Answer(True)
    return Answer(False, "grpc is not supported here; use exec, httpGet or tcpSocket")


async def _run(target: Target, command: list[str]) -> Answer:
    session = await target.engine.exec(
        target.uid, target.name, command, env=target.env, tty=False, stdin=False
    )
    try:
        streams = [one for one in (session.stdout, session.stderr) if one is not None]
        async with reading(*streams) as said:
            code = await session.wait()
        return Answer(code == 0, b"".join(said)[:_MOST_OUTPUT].decode(errors="replace"))
    finally:
        await session.kill()


@contextlib.asynccontextmanager
async def reading(*streams: asyncio.StreamReader) -> AsyncIterator[list[bytearray]]:
    """What streams begin with, while all of them are read, lest their writer waits for ever.

    What it left running may hold them open: they are not waited for much longer than it.
    """
    said = [bytearray() for _ in streams]
    readers = [asyncio.ensure_future(_read(*pair)) for pair in zip(streams, said, strict=True)]
    try:
        yield said
        await asyncio.wait(readers, timeout=_LATE_SECONDS)
    finally:
        for reader in readers:
            reader.cancel()


async def _read(stream: asyncio.StreamReader, said: bytearray) -> None:
    while part := await stream.read(_PART):
        said += part[: _MOST_OUTPUT - len(said)]


def _port(target: Target, action: Object) -> int:
    """A port by its number, or by the name the container gives it."""
    found = number(action, "port")
    if found is not None:
        return found
    wanted = text(action, "port")
    for port in entries(target.container, "ports"):
        if port.get("name") == wanted:
            return number(port, "containerPort") or 0
    if (plain := whole(wanted, most=65535)) is not None:
        return plain
    raise OSError(f"couldn't find port: {wanted}")


async def _get(target: Target, action: Object) -> Answer:
    port = _port(target, action)
    connection = await target.engine.connect(target.uid, port)
    secure = _anything() if text(action, "scheme") == "HTTPS" else None
    reader, writer = await asyncio.open_connection(
        sock=connection, ssl=secure, server_hostname="localhost" if secure else None
    )
    try:
        writer.write(request(action, port))
        status = (await reader.readline()).split()
    finally:
        writer.close()
    code = (whole(status[1].decode(errors="replace")) or 0) if len(status) > 1 else 0
    if 200 <= code < 400:
        return Answer(True)
    return Answer(False, f"HTTP probe failed with statuscode: {code}")


def request(action: Object, port: int) -> bytes:
    """The request of an httpGet action; headers of its own replace ours."""
    path = text(action, "path") or "/"
    path = path if path.startswith("/") else f"/{path}"
    headers = {"Host": f"{text(action, 'host') or 'localhost'}:{port}", "User-Agent": _AGENT, "Accept": "*/*"}
    given = {text(one, "name"): text(one, "value") for one in entries(action, "httpHeaders")}
    shadowed = {name.lower() for name in given}
    kept = {name: value for name, value in headers.items() if name.lower() not in shadowed}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in (kept | given).items())]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


def _anything() -> ssl.SSLContext:
    """Probes do not check certificates, as upstream."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
