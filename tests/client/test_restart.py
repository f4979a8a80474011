"""A watch outlives the server it watches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_config_map
from tests.servers import Server
from trainshed.client.requests import Where


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    if server.process is not None and server.process.poll() is None:
        server.stop()


async def test_a_killed_server_costs_a_watcher_nothing(server: Server) -> None:
    cluster = await asyncio.to_thread(server.start)
    mine, told = {"labels": {"t": "restart"}}, list[tuple[str, str]]()
    async with (
        cluster.client() as client,
        client.watch("configmaps", where=Where(labels="t=restart")) as changes,
    ):

        async def follow(count: int) -> None:
            async with asyncio.timeout(60):
                for _ in range(count):
                    change = await anext(changes)
                    told.append((change.type, change.object.get("data", {}).get("v", "")))

        await client.create(a_config_map("a", {"v": "1"}, **mine))
        await follow(2)
        await client.patch("configmaps", "a", {"data": {"v": "2"}})
        server.kill()
        await asyncio.to_thread(server.start)
        await client.patch("configmaps", "a", {"data": {"v": "3"}})
        await client.delete("configmaps", "a")
        await follow(3)
    # Told one by one if history survived, summed up if not; here it does.
    assert told == [("ADDED", "1"), ("SYNCED", ""), ("MODIFIED", "2"), ("MODIFIED", "3"), ("DELETED", "3")]
