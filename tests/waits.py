"""Bounded waiting: for a claim about an object (by watching it), or for anything else (by asking again)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.kube.objects import Object

SECONDS = 30.0
T = TypeVar("T")


async def until(
    client: Client, kind: str, name: str, claim: Callable[[Object], object], namespace: str | None = None
) -> Object:
    """The object as soon as the claim holds for it."""
    where = Where(fields=f"metadata.name={name}")
    async with asyncio.timeout(SECONDS), client.watch(kind, namespace, where) as changes:
        async for change in changes:
            if change.type in ("ADDED", "MODIFIED") and claim(change.object):
                return change.object
    raise AssertionError("a watch does not end by itself")


async def until_gone(client: Client, kind: str, name: str, namespace: str | None = None) -> None:
    where = Where(fields=f"metadata.name={name}")
    present = False
    async with asyncio.timeout(SECONDS), client.watch(kind, namespace, where) as changes:
        async for change in changes:
            if change.type == "DELETED" or (change.type == "SYNCED" and not present):
                return
            present = True


async def eventually(attempt: Callable[[], Awaitable[T]], *faults: type[Exception]) -> T:
    """The result of the first attempt that does not raise one of the faults (or an AssertionError)."""
    deadline = asyncio.get_running_loop().time() + SECONDS
    while True:
        try:
            return await attempt()
        except Exception as refused:
            if not isinstance(refused, (AssertionError, *faults)):
                raise
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.05)
