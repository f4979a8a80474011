"""Many followers of one stream of events, in a process of their own: what each of them received."""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import time
from dataclasses import dataclass

import uvloop

from bench.load import Target

MARK = b"line-"
SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Received:
    lines: int
    digest: str
    """Of all bytes: equal for followers who were told the same."""
    seconds: float
    has_ended: bool


def follow(target: Target, path: str, count: int) -> list[Received]:
    """Follow so many times at once, to the end."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (target, path, count))


def _measure(target: Target, path: str, count: int) -> list[Received]:
    return uvloop.run(_all(target, path, count))


async def _all(target: Target, path: str, count: int) -> list[Received]:
    async with asyncio.timeout(SECONDS):
        return await asyncio.gather(*(_one(target, path) for _ in range(count)))


async def _one(target: Target, path: str) -> Received:
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection(target.host, target.port, limit=1 << 20)
    writer.write(target.request("GET", path))
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    digest, lines, rest = hashlib.sha256(), 0, b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        piece = (await reader.readexactly(size + 2))[:-2]
        if piece.startswith(b": "):
            continue
        digest.update(piece)
        held = rest + piece
        lines += held.count(MARK)
        # What ends with a part of the mark is looked at again with what follows it.
        rest = held[max(held.rfind(MARK) + len(MARK), len(held) - len(MARK) + 1) :]
        tail = piece[-400:]
    writer.close()
    return Received(lines, digest.hexdigest(), time.perf_counter() - began, b"event: end" in tail)
