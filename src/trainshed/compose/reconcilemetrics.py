"""What the controllers of a process did, in the form Prometheus reads, at a port or a socket."""

from __future__ import annotations

import asyncio
import os
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from trainshed.loop.passes import BOUNDS, Passes

if TYPE_CHECKING:
    from prometheus_client import Metric

SOCKET = "operator.sock"
_SECONDS = 5.0
_MEDIA = "text/plain; version=0.0.4; charset=utf-8"


def text(passes: Passes) -> bytes:
    # Imported here: few ask, and the operator starts at once.
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Reconciles(Collector):
        def collect(self) -> Iterator[Metric]:
            return _families(passes)

    registry = CollectorRegistry()
    registry.register(Reconciles())
    return generate_latest(registry)


def _families(passes: Passes) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    by_controller = ["controller"]
    results = CounterMetricFamily(
        "trainshed_reconciles", "Passes over objects, by how they ended.", labels=[*by_controller, "result"]
    )
    seconds = HistogramMetricFamily(
        "trainshed_reconcile_seconds", "How long one pass took.", labels=by_controller
    )
    waiting = GaugeMetricFamily(
        "trainshed_reconcile_queue", "Objects that wait for a pass.", labels=by_controller
    )
    for name, tally in passes.tallies.items():
        for result, count in tally.results.items():
            results.add_metric([name, result], count)
        bounds = [*map(str, BOUNDS), "+Inf"]
        buckets = list(zip(bounds, accumulate(tally.buckets), strict=True))
        seconds.add_metric([name], buckets, sum_value=tally.seconds)
        waiting.add_metric([name], tally.waiting())
    yield from (results, seconds, waiting)


@asynccontextmanager
async def at_socket(passes: Passes, path: str) -> AsyncIterator[None]:
    """Answer at a socket that only this user can reach; one that a former process left is taken over."""
    _remove(path)
    server = await asyncio.start_unix_server(partial(_serve, passes), path)
    os.chmod(path, 0o600)
    try:
        async with server:
            yield
    finally:
        _remove(path)


async def at_port(passes: Passes, host: str, port: int) -> asyncio.Server:
    """Answers over HTTP until closed. Raises `OSError` where the port is taken."""
    return await asyncio.start_server(partial(_serve, passes), host, port)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


async def _serve(passes: Passes, reader: StreamReader, writer: StreamWriter) -> None:
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_answer(head, passes))
            await writer.drain()
    writer.close()


def _answer(head: bytes, passes: Passes) -> bytes:
    if head.split(b" ", 2)[:2] != [b"GET", b"/metrics"]:
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    body = text(passes)
    lines = [
        "HTTP/1.1 200 OK",
        f"Content-Type: {_MEDIA}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
