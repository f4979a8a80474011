"""The ASGI application: who asks, may they, which handler, and every way it can end as a Status."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from trainshed.apiserver import answers
from trainshed.apiserver.access.audit import Audit, Entry, sanitized
from trainshed.apiserver.access.authentication import Authenticator
from trainshed.apiserver.access.identity import ANONYMOUS_USER, PUBLIC_PATHS, Attributes, Identity, forbidden
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.answers import Answer, Stream
from trainshed.apiserver.call import Call
from trainshed.apiserver.documents import Documents
from trainshed.apiserver.requests import Request, Target, parse_target
from trainshed.apiserver.routes import NOT_FOUND, Handler, Place, Verb, handler_for, verb_of
from trainshed.apiserver.state import State
from trainshed.kube import faults
from trainshed.kube.objects import JSON

log = logging.getLogger(__name__)

Scope = MutableMapping[str, JSON]
Message = MutableMapping[str, JSON]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY = 3 * 1024 * 1024
PART_BYTES = 64 * 1024


class Seen(msgspec.Struct):
    """What the audit log tells of a request, filled in as it becomes known."""

    request: Request
    time: datetime
    began: float
    query: bytes
    source: str
    user: Identity | None = None
    verb: str = ""
    target: Target | None = None


_NOWHERE = Target("", "")
_NOBODY = Identity(ANONYMOUS_USER)


@dataclass(slots=True)
class Application:
    state: State
    authenticator: Authenticator
    authorizer: Authorizer
    audit: Audit
    documents: Documents
    handlers: Mapping[Place, Handler]
    streams: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._refuse_websocket(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = _seen(scope)
        try:
            result = await self._answer(seen, receive)
        except faults.Fault as fault:
            result = answers.of_fault(fault)
        except Exception as error:
            log.exception("unexpected failure in %s %s", seen.request.method, seen.request.path)
            result = answers.of_fault(
                faults.InternalError(f"Internal error occurred: {type(error).__name__}: {error}")
            )
        if isinstance(result, Stream):
            code = 200
            await self._send_stream(result, seen, receive, send)
        else:
            code = result.status
            await _send_answer(result, seen.request, send)
        self._note(seen, code)

    async def _answer(self, seen: Seen, receive: Receive) -> Answer | Stream:
        request = seen.request
        path = request.path.rstrip("/") or "/"
        user = self.authenticator.identify(request.raw_headers)
        seen.user = user
        if path in PUBLIC_PATHS or path.startswith(("/livez/", "/readyz/", "/healthz/")):
            return self._document(request, path)
        if user is None:
            raise faults.Unauthorized("Unauthorized")
        target = parse_target(path)
        if target is None or not target.plural:
            self._authorize(Attributes(user, request.method.lower(), path=path))
            return self._document(request, path)
        seen.target = target
        return await self._resource(seen, user, target, receive)

    async def _resource(
        self, seen: Seen, user: Identity, target: Target, receive: Receive
    ) -> Answer | Stream:
        request, kind = seen.request, self.state.registry.find(target.group, target.version, target.plural)
        verb = verb_of(request, target)
        seen.verb = verb
        self._authorize(_attributes(user, verb, request, target))
        if kind is None or (target.namespace and not kind.namespaced and kind.plural != "namespaces"):
            raise faults.NotFound(NOT_FOUND)
        handle = handler_for(kind, target, verb, self.handlers)
        if request.method in ("POST", "PUT", "PATCH", "DELETE"):
            request.body = await _read_body(request, receive)
        result = handle(Call(self.state, request, target, kind, user, self._authorize))
        return await result if inspect.isawaitable(result) else result

    def _authorize(self, attributes: Attributes) -> None:
        decision = self.authorizer.decide(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def _document(self, request: Request, path: str) -> Answer:
        if request.method not in ("GET", "HEAD"):
            raise faults.MethodNotAllowed("the server does not allow this method on the requested resource")
        found = self.documents.find(path, request)
        if found is None:
            raise faults.NotFound(NOT_FOUND)
        return found

    # --- streams --------------------------------------------------------------------------------------------

    async def _send_stream(self, stream: Stream, seen: Seen, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", stream.content_type),
            (b"cache-control", b"no-cache, private"),
            *stream.headers,
        ]
        headers += answers.warning_headers(seen.request.warnings)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        pump = asyncio.create_task(_pump(stream, send), name="stream")
        self.streams.add(pump)
        gone = asyncio.create_task(_until_gone(receive), name="stream-disconnect")
        try:
            await asyncio.wait((pump, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.streams.discard(pump)
            for task in (pump, gone):
                task.cancel()
            await asyncio.gather(pump, gone, return_exceptions=True)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def end_streams(self) -> None:
        """Let every watch and log end cleanly, so that the server can stop."""
        for task in self.streams:
            task.cancel()

    async def _refuse_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Streams into pods need a node agent; without one, say so after the same checks as over HTTP."""
        await receive()
        seen = _seen({**scope, "method": "GET"})
        try:
            await self._answer(seen, receive)
            fault: faults.Fault = faults.BadRequest("this resource does not speak the WebSocket protocol")
        except faults.Fault as error:
            fault = error
        answer = answers.of_fault(fault)
        headers = [(b"content-type", answer.content_type)]
        await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": answer.body})
        self._note(seen, answer.status)

    def _note(self, seen: Seen, code: int) -> None:
        request, target, user = seen.request, seen.target or _NOWHERE, seen.user or _NOBODY
        self.audit.record(
            Entry(
                time=seen.time,
                verb=seen.verb or request.method.lower(),
                path=sanitized(request.path, seen.query) if seen.query else request.path,
                code=code,
                latency_ms=round((time.perf_counter() - seen.began) * 1000, 3),
                user=user.username,
                groups=user.groups,
                impersonator=user.impersonator,
                group=target.group,
                version=target.version,
                resource=target.plural,
                namespace=target.namespace,
                name=target.name,
                subresource=target.subresource,
                user_agent=request.user_agent,
                source=seen.source,
            )
        )


def _seen(scope: Scope) -> Seen:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = raw.partition(b"?")[0].decode("latin-1")
    client = scope.get("client")
    query: bytes = scope["query_string"]
    request = Request(scope["method"], path, query, scope["headers"])
    return Seen(request, datetime.now(UTC), time.perf_counter(), query, client[0] if client else "")


def _attributes(user: Identity, verb: Verb, request: Request, target: Target) -> Attributes:
    name = target.name
    if not name and verb in ("list", "watch", "deletecollection"):
        # A list of one named object is a question about that object, for rules with resourceNames.
        selector = request.query.get("fieldSelector")
        if selector.startswith("metadata.name=") and "," not in selector.rstrip(","):
            name = selector.removeprefix("metadata.name=").lstrip("=").rstrip(",")
    namespace = target.namespace
    return Attributes(
        user, verb, target.group, target.version, target.plural, target.subresource, namespace, name
    )


async def _read_body(request: Request, receive: Receive) -> bytes:
    declared = request.header(b"content-length")
    if declared.isdigit() and int(declared) > MAX_BODY:
        raise _too_large(int(declared))
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise faults.BadRequest("the client left before its request was complete")
        piece = message.get("body", b"")
        size += len(piece)
        if size > MAX_BODY:
            raise _too_large(size)
        pieces.append(piece)
        if not message.get("more_body"):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_large(size: int) -> faults.TooLarge:
    return faults.TooLarge(f"Request entity too large: limit is {MAX_BODY}, got at least {size}")


async def _send_answer(answer: Answer, request: Request, send: Send) -> None:
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode()),
        (b"cache-control", b"no-cache, private"),
        *answer.headers,
    ]
    if request.warnings:
        headers += answers.warning_headers(request.warnings)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    body = b"" if request.method == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})


async def _pump(stream: Stream, send: Send) -> None:
    try:
        async for piece in stream.pieces:
            # A large one in parts: what waits for a slow reader is copied several times on its way out.
            for start in range(0, len(piece), PART_BYTES):
                part = piece[start : start + PART_BYTES]
                await send({"type": "http.response.body", "body": part, "more_body": True})
    except Exception:
        log.exception("a stream broke off")  # its head is out: the client is left with what it has got
    finally:
        closing = getattr(stream.pieces, "aclose", None)
        if closing is not None:
            await closing()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
