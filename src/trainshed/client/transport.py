"""Sockets: a pool of connections to one server, TLS, time limits, streams. The only importer of aiohttp.

What aiohttp raises is mapped here, once, to the tree of `failures`; nobody above sees a foreign error.
"""

from __future__ import annotations

import asyncio
import io
import os
import ssl
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

import trainshed
from trainshed.client import failures
from trainshed.client.answers import Answer
from trainshed.client.credentials import Credentials, Proof
from trainshed.client.kubeconfig import Config
from trainshed.client.requests import Request

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
_LONGEST_LINE = 64 * 1024 * 1024
_LARGE_BODY = 512 * 1024
_LONGEST_HEADER = 64 * 1024


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

    def __init__(self, response: aiohttp.ClientResponse, server: str) -> None:
        self._response, self._server = response, server
        self.code = response.status
        self.headers = _headers(response)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Pieces of the body as they arrive, of any size."""
        with _mapped(self._server):
            async for piece in self._response.content.iter_any():
                yield piece

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Complete lines without their end; a last line cut off by the end of the stream is dropped."""
        held = bytearray()
        async with aclosing(self.chunks()) as pieces:
            async for piece in pieces:
                held += piece
                if b"\n" in piece:
                    *complete, held = held.split(b"\n")
                    for line in complete:
                        yield bytes(line)
                elif len(held) > _LONGEST_LINE:
                    raise failures.Garbled(f"{self._server} sent a line of more than {_LONGEST_LINE} bytes")

    async def read(self) -> Answer:
        """The rest of the body as a complete answer."""
        with _mapped(self._server):
            return Answer(self.code, self.headers, await self._response.read())


class HttpTransport:
    """Speaks HTTP/1.1 to the server of one configuration."""

    def __init__(self, config: Config, credentials: Credentials | None = None) -> None:
        self._config = config
        self._credentials = credentials or Credentials(config)
        self._base = _base_url(config)
        self._tls: tuple[tuple[bytes, bytes], ssl.SSLContext] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    def forget_credentials(self) -> bool:
        return self._credentials.forget()

    async def send(self, request: Request, within: float = ANSWER_SECONDS) -> Answer:
        async with self.stream(request, within) as answer:
            return await answer.read()

    @asynccontextmanager
    async def stream(self, request: Request, within: float | None = None) -> AsyncIterator[Stream]:
        """Open a request and keep its answer open; `within` bounds the whole stay, None does not."""
        proof = await self._credentials.proof()
        limits = aiohttp.ClientTimeout(total=within, sock_connect=CONNECT_SECONDS, connect=None)
        with _mapped(self._config.server):
            response = await self._open().request(
                request.method,
                URL(self._base + request.target, encoded=True),
                data=_payload(request.body),
                headers=_outgoing(request, proof),
                timeout=limits,
                ssl=self._context(proof),
                server_hostname=self._config.tls_name or None,
                allow_redirects=False,  # a redirect must not carry the token to another host
            )
        try:
            yield Stream(response, self._config.server)
        finally:
            _leave(response)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Content-Type", "Accept-Encoding"),
                max_line_size=_LONGEST_HEADER,
                max_field_size=_LONGEST_HEADER,
            )
        return self._session

    def _connector(self) -> aiohttp.BaseConnector:
        # No limit: watches hold their connection for minutes, and no other request must wait for them.
        if self._config.server.startswith("unix:"):
            return aiohttp.UnixConnector(urlsplit(self._config.server).path, limit=0)
        return aiohttp.TCPConnector(limit=0, limit_per_host=0, keepalive_timeout=60.0, ttl_dns_cache=30)

    def _context(self, proof: Proof) -> ssl.SSLContext | bool:
        """The TLS settings, made once and again only when the client certificate changed."""
        if not self._base.startswith("https:"):
            return True
        pair = proof.certificate, proof.key
        if self._tls is None or self._tls[0] != pair:
            self._tls = (pair, _tls_context(self._config, proof))
        return self._tls[1]


# --- requests and answers -----------------------------------------------------------------------------------


def _base_url(config: Config) -> str:
    return "http://localhost" if config.server.startswith("unix:") else config.server.rstrip("/")


def _outgoing(request: Request, proof: Proof) -> list[tuple[str, str]]:
    # No compression is asked for: the server is mostly near, and a compressed stream may be held back.
    agent = ("User-Agent", f"trainshed/{trainshed.__version__}")
    return [agent, ("Accept-Encoding", "identity"), *request.headers.items(), *proof.headers]


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    """A body in the form aiohttp wants: large ones as a file, so that they are written piece by piece."""
    return (io.BytesIO(body) if len(body) > _LARGE_BODY else body) or None


def _headers(response: aiohttp.ClientResponse) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in response.headers.items():
        found[name.lower()] = (*found.get(name.lower(), ()), value)
    return found


def _leave(response: aiohttp.ClientResponse) -> None:
    """Return a finished answer's connection to the pool; cut one whose answer nobody will read to its end."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        # Not close(): over TLS that waits for the other side's goodbye, which a busy stream may never send.
        connection.transport.abort()
    response.close()


# --- TLS ----------------------------------------------------------------------------------------------------


def _tls_context(config: Config, proof: Proof) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        if config.authority:
            context = ssl.create_default_context(cadata=config.authority.decode())
        if config.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if proof.certificate:
            _load_pair(context, proof)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as broken:
        raise failures.BadConfig(f"the certificates for {config.server} cannot be used: {broken}") from broken
    return context


def _load_pair(context: ssl.SSLContext, proof: Proof) -> None:
    """OpenSSL reads a certificate only from a file: give it one only we can read, and remove it at once."""
    descriptor, path = tempfile.mkstemp(prefix="trainshed-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(proof.certificate.rstrip() + b"\n" + proof.key)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


# --- foreign errors -----------------------------------------------------------------------------------------

# Order matters: the first class that fits wins, so the special ones come before their parents.
_MAPPING: tuple[tuple[type[Exception], type[failures.ConnectionFailure], str], ...] = (
    (aiohttp.ClientConnectorCertificateError, failures.TlsRefused, "does not have a trusted certificate"),
    (aiohttp.ClientSSLError, failures.TlsRefused, "refused the TLS handshake"),
    (ssl.SSLError, failures.TlsRefused, "broke the TLS connection"),
    (aiohttp.ServerFingerprintMismatch, failures.TlsRefused, "has another certificate"),
    (aiohttp.ConnectionTimeoutError, failures.Unreachable, "did not accept a connection in time"),
    (aiohttp.ClientConnectorError, failures.Unreachable, "cannot be reached"),
    (asyncio.TimeoutError, failures.TimedOut, "did not answer in time"),
    (aiohttp.ServerDisconnectedError, failures.Disconnected, "closed the connection"),
    (aiohttp.ClientPayloadError, failures.Disconnected, "closed the connection in the middle of an answer"),
    (aiohttp.ClientConnectionError, failures.Disconnected, "closed the connection"),
    (OSError, failures.Disconnected, "closed the connection"),
    (aiohttp.ClientError, failures.Garbled, "did not answer in HTTP"),
)


@contextmanager
def _mapped(server: str) -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _failure(error, server) from error


def _failure(error: Exception, server: str) -> failures.ConnectionFailure:
    for foreign, ours, words in _MAPPING:
        if isinstance(error, foreign):
            return ours(f"{server} {words}{_because(error)}")
    raise AssertionError(f"{type(error).__name__} is not in the mapping")


def _because(error: Exception) -> str:
    """The operating system's or OpenSSL's own words, without aiohttp's wrapping."""
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    text = getattr(inner, "verify_message", "") or getattr(inner, "strerror", "") or str(inner)
    return f" ({' '.join(str(text).split())})" if text else ""
