"""What the client asks of the network: whole answers, streams, time limits, failures in words.

What sockets, TLS and the parser raise is mapped here, once, to the tree of `failures`; nobody above sees a
foreign error.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

import trainshed
from trainshed.client import failures, pool, tls
from trainshed.client.answers import Answer
from trainshed.client.connection import END, HEAD, Connection, Lost, NotHttp
from trainshed.client.credentials import Credentials, Proof
from trainshed.client.kubeconfig import Config
from trainshed.client.pool import NoConnection, Pool
from trainshed.client.requests import Request

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
_LONGEST_LINE = 64 * 1024 * 1024
_REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE"))
"""Sent again by ourselves when a connection at rest turns out to have ended: twice does the same as once."""


class Transport(Protocol):
    """All the client asks of the network; one method to send, one to stream."""

    async def send(self, request: Request, within: float = ANSWER_SECONDS) -> Answer: ...

    def stream(self, request: Request, within: float | None = None) -> AbstractStream: ...

    def forget_credentials(self) -> bool: ...

    async def close(self) -> None: ...


class AbstractStream(Protocol):
    async def __aenter__(self) -> Stream: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


class Stream:
    """An answer whose body is still arriving."""

    def __init__(self, connection: Connection, server: str) -> None:
        self._connection, self._server = connection, server
        self.code, self.headers = connection.code, connection.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Pieces of the body as they arrive, of any size."""
        while piece := await self._piece():
            yield piece

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Complete lines without their end; a last line cut off by the end of the stream is dropped."""
        held = b""
        async with aclosing(self.chunks()) as pieces:
            async for piece in pieces:
                held = held + piece if held else piece
                if b"\n" in piece:
                    *complete, held = held.split(b"\n")
                    for line in complete:
                        yield line
                elif len(held) > _LONGEST_LINE:
                    raise failures.Garbled(f"{self._server} sent a line of more than {_LONGEST_LINE} bytes")

    async def read(self) -> Answer:
        """The rest of the body as a complete answer."""
        with _mapped(self._server):
            return Answer(self.code, self.headers, await self._connection.rest())

    async def _piece(self) -> bytes:
        with _mapped(self._server):
            return await self._connection.piece()


class HttpTransport:
    """Speaks HTTP/1.1 to the server of one configuration."""

    def __init__(self, config: Config, credentials: Credentials | None = None) -> None:
        self._config = config
        self._credentials = credentials or Credentials(config)
        self._is_secure = config.server.startswith("https:")
        self._prefix, self._usual = _usual(config.server)
        self._pool = Pool(pool.place(config.server, config.tls_name))
        self._tls: tuple[tuple[bytes, bytes], ssl.SSLContext] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._pool.close()

    def forget_credentials(self) -> bool:
        return self._credentials.forget()

    async def send(self, request: Request, within: float = ANSWER_SECONDS) -> Answer:
        proof = await self._credentials.proof()
        context = self._context(proof)
        try:
            connection = await self._ask(request, proof, context, within, END)
            try:
                return Answer(connection.code, connection.headers, await connection.rest())
            finally:
                self._pool.give(connection, context)
        except _FOREIGN as error:
            raise _failure(error, self._config.server) from error

    @asynccontextmanager
    async def stream(self, request: Request, within: float | None = None) -> AsyncIterator[Stream]:
        """Open a request and keep its answer open; `within` bounds the whole stay, None does not."""
        proof = await self._credentials.proof()
        context = self._context(proof)
        with _mapped(self._config.server):
            connection = await self._ask(request, proof, context, within, HEAD)
        try:
            yield Stream(connection, self._config.server)
        finally:
            self._pool.give(connection, context)

    async def _ask(
        self, request: Request, proof: Proof, context: ssl.SSLContext | None, within: float | None, until: int
    ) -> Connection:
        """A connection with the answer to a request, up to its `HEAD` or `END`."""
        data = _written(request, self._prefix, self._usual, proof)
        deadline = None if within is None else asyncio.get_running_loop().time() + within
        try:
            return await self._try(request, data, context, deadline, until)
        except Lost as lost:
            if not lost.is_stale or request.method not in _REPEATABLE:
                raise
        return await self._try(request, data, context, deadline, until, fresh=True)

    async def _try(
        self,
        request: Request,
        data: bytes,
        context: ssl.SSLContext | None,
        deadline: float | None,
        until: int,
        *,
        fresh: bool = False,
    ) -> Connection:
        connection = await self._connected(context, deadline, fresh=fresh)
        try:
            await connection.ask(data, deadline, until, is_bodiless=request.method == "HEAD")
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _connected(
        self, context: ssl.SSLContext | None, deadline: float | None, *, fresh: bool
    ) -> Connection:
        """A connection at rest or a new one; what goes wrong means that the request was never sent."""
        left = CONNECT_SECONDS if deadline is None else deadline - asyncio.get_running_loop().time()
        try:
            return await self._pool.take(context, min(left, CONNECT_SECONDS), fresh=fresh)
        except NoConnection as late:
            if left < CONNECT_SECONDS:
                raise TimeoutError from late
            raise
        except OSError as error:
            raise _unconnected(error, self._config.server) from error

    def _context(self, proof: Proof) -> ssl.SSLContext | None:
        """The TLS settings, made once and again only when the client certificate changed."""
        if not self._is_secure:
            return None
        pair = proof.certificate, proof.key
        if self._tls is None or self._tls[0] != pair:
            self._tls = (pair, tls.context(self._config, proof))
        return self._tls[1]


# --- requests -----------------------------------------------------------------------------------------------


def _usual(server: str) -> tuple[str, str]:
    """The path a server lives under, and the headers every request to it carries."""
    parts = urlsplit(server)
    is_local = parts.scheme == "unix"
    host = "localhost" if is_local else parts.netloc.rpartition("@")[2]
    # No compression is asked for: the server is mostly near, and a compressed stream may be held back.
    agent = f"User-Agent: trainshed/{trainshed.__version__}\r\nAccept-Encoding: identity\r\n"
    return "" if is_local else parts.path.rstrip("/"), f"Host: {host}\r\n{agent}"


def _written(request: Request, prefix: str, usual: str, proof: Proof) -> bytes:
    """A request as it goes on the wire."""
    own = [*request.headers.items(), *proof.headers]
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        own.append(("Content-Length", str(len(request.body))))
    lines = "".join([f"{name}: {value}\r\n" for name, value in own])
    target = prefix + request.target
    if lines.count("\n") != len(own) or lines.count("\r") != len(own) or "\0" in lines:
        raise ValueError("a header contains a line break or a NUL byte")
    if " " in target or not target.isprintable():
        raise ValueError(f"{target!r} cannot be the target of a request")
    return f"{request.method} {target} HTTP/1.1\r\n{usual}{lines}\r\n".encode() + request.body


# --- foreign errors -----------------------------------------------------------------------------------------


_FOREIGN = (Lost, NotHttp, NoConnection, TimeoutError)


@contextmanager
def _mapped(server: str) -> Iterator[None]:
    try:
        yield
    except _FOREIGN as error:
        raise _failure(error, server) from error


def _failure(error: Exception, server: str) -> failures.ConnectionFailure:
    match error:
        case NoConnection():
            return failures.Unreachable(f"{server} did not accept a connection in time")
        case TimeoutError():
            return failures.TimedOut(f"{server} did not answer in time")
        case NotHttp():
            return failures.Garbled(f"{server} did not answer in HTTP{_because(error)}")
        case Lost(in_body=True):
            words = "closed the connection in the middle of an answer"
            return failures.Disconnected(f"{server} {words}{_because(error)}")
        case _:
            return failures.Disconnected(f"{server} closed the connection{_because(error)}")


def _unconnected(error: OSError, server: str) -> failures.ConnectionFailure:
    if isinstance(error, ssl.SSLCertVerificationError):
        return failures.TlsRefused(f"{server} does not have a trusted certificate{_because(error)}")
    if isinstance(error, ssl.SSLError):
        return failures.TlsRefused(f"{server} refused the TLS handshake{_because(error)}")
    return failures.Unreachable(f"{server} cannot be reached{_because(error)}")


def _because(error: Exception) -> str:
    """The operating system's, OpenSSL's or the parser's own words."""
    inner = getattr(error, "cause", None) or error
    text = getattr(inner, "verify_message", "") or getattr(inner, "strerror", "") or str(inner)
    return f" ({' '.join(str(text).split())})" if text else ""
