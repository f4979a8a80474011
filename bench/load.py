"""A lean HTTP/1.1 load generator: kept-alive TLS connections that send prepared bytes and read answers.

It runs in a process of its own (see `run`), so that what it costs is not charged to the server's event loop.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import uvloop

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Result:
    requests: int
    seconds: float
    latencies: Sequence[float]
    """Sorted, in seconds."""
    failures: int = 0

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    def percentile(self, share: float) -> float:
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * share))]


@dataclass(frozen=True, slots=True)
class Target:
    host: str
    port: int
    authority: str
    """PEM of the certificate authority to trust; empty for plain HTTP."""
    token: str

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"Accept: application/json\r\n\r\n" + body


Make = Callable[[Target, int], bytes]
"""The n-th request; must be importable, since it is made in the load process."""


def run(target: Target, make: Make, *, connections: int, requests: int) -> Result:
    """Send the requests over so many connections, in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measure, (target, make, connections, requests))


def _measure(target: Target, make: Make, connections: int, requests: int) -> Result:
    return uvloop.run(_all(target, make, connections, requests))


async def _all(target: Target, make: Make, connections: int, requests: int) -> Result:
    prepared = [make(target, number) for number in range(requests)]
    shares = [prepared[start::connections] for start in range(connections)]
    workers = [await _open(target) for _ in range(connections)]
    began = time.perf_counter()
    results = await asyncio.gather(
        *(_work(worker, share) for worker, share in zip(workers, shares, strict=True))
    )
    seconds = time.perf_counter() - began
    latencies = sorted(latency for found, _ in results for latency in found)
    return Result(requests, seconds, latencies, sum(failed for _, failed in results))


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _open(target: Target) -> Connection:
    context = ssl.create_default_context(cadata=target.authority) if target.authority else None
    return await asyncio.open_connection(target.host, target.port, ssl=context, limit=16 * 1024 * 1024)


async def _work(connection: Connection, share: Sequence[bytes]) -> tuple[list[float], int]:
    reader, writer = connection
    latencies, failures = [], 0
    for request in share:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(_length(head))
        latencies.append(time.perf_counter() - began)
        failures += head[9:10] != b"2"
    writer.close()
    return latencies, failures


def _length(head: bytes) -> int:
    marker = b"content-length: "
    start = head.lower().index(marker) + len(marker)
    return int(head[start : head.index(b"\r\n", start)])
