"""The outermost layer of the service: request ids, one JSON line per request, and the last net for faults."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainshed.backend import requestids
from trainshed.backend.problems import Problem
from trainshed.kube.objects import encode

log = logging.getLogger("trainshed.backend.access")
faults_log = logging.getLogger(__name__)

MOST_BYTES = 10_000_000
_ROUTINE = ("/healthz", "/readyz", "/metrics")


def begin(file: Path | None, level: int = logging.INFO) -> None:
    """Let lines be nothing but JSON: to a file that does not grow for ever, or to the standard error."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        handler = RotatingFileHandler(file, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.handlers, log.propagate = [handler], False
    log.setLevel(level)


class AccessLog:
    """Knows when an answer began and ended; nothing that goes wrong below gets past it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, sent = time.monotonic(), 0, 0
        request_id = requestids.of(scope)

        async def noted(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                named = (requestids.HEADER.lower().encode(), request_id.encode())
                message = {**message, "headers": [*message.get("headers", ()), named]}
            sent += len(message.get("body") or b"")
            await send(message)

        try:
            await self._guarded(scope, receive, noted, lambda: status)
        finally:
            level = logging.DEBUG if scope["path"] in _ROUTINE else logging.INFO
            log.log(
                level, "%s", encode(_line(scope, request_id, status, sent, time.monotonic() - began)).decode()
            )

    async def _guarded(self, scope: Scope, receive: Receive, send: Send, status: Callable[[], int]) -> None:
        try:
            await self._app(scope, receive, send)
        except Problem as problem:
            await answer(problem, scope, send)
        except Exception:
            faults_log.exception("request %s failed", requestids.of(scope))
            if status():
                raise  # the answer had begun: cutting the connection is all that is left
            await answer(Problem(500, "this service has a fault; the log says more"), scope, send)


async def answer(problem: Problem, scope: Scope, send: Send) -> None:
    """Send a problem by hand, below every framework."""
    body = encode(problem.body(requestids.of(scope)))
    headers = {"content-type": "application/json", "content-length": str(len(body)), **problem.headers}
    pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def _line(scope: Scope, request_id: str, status: int, sent: int, seconds: float) -> dict[str, object]:
    """Never a query, a header or a body: they may hold what is nobody else's business."""
    client = scope.get("client")
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": request_id,
        "user": scope.get("state", {}).get("user"),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"][:500],
        "status": status or 499,
        "bytes": sent,
        "milliseconds": round(seconds * 1000, 1),
    }
