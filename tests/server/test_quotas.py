"""Quotas and kill -9: after each start the counts are those of what is really there."""

from __future__ import annotations

import asyncio

import pytest

from tests import waits
from tests.builders import a_namespace
from tests.contract.rooms import a_quota, a_sized_pod, enforced, used
from tests.servers import Cluster, Server
from trainshed.client.failures import Failure
from trainshed.client.requests import Delete
from trainshed.kube.faults import Forbidden, NotFound
from trainshed.kube.objects import Object

SPACE = "counted"
LIMIT = 60


@pytest.mark.timeout(180)
async def test_counts_are_right_after_kill_9(mortal: Server) -> None:
    cluster = mortal.start()
    async with cluster.client(SPACE) as client:
        await client.create(a_namespace(SPACE))
        await waits.eventually(lambda: client.get("serviceaccounts", "default"), NotFound)
        await enforced(client, a_quota("few", {"pods": str(LIMIT), "requests.cpu": "1000"}), SPACE)
    for turn in range(3):
        await _written_until_killed(mortal, cluster, turn)
        cluster = mortal.start()
        async with cluster.client(SPACE) as client:
            count = len((await client.list("pods")).items)
            assert count <= LIMIT
            await used(client, "few", SPACE, {"pods": str(count), "requests.cpu": str(2 * count)})
            if turn < 2:
                await client.delete_collection("pods", options=Delete(grace_seconds=0))
                await used(client, "few", SPACE, {"pods": "0", "requests.cpu": "0"})


async def _written_until_killed(server: Server, cluster: Cluster, turn: int) -> None:
    """Many writers ask for more than there is; the server dies in the middle."""
    done = 0

    async with cluster.client(SPACE) as client:

        async def write(number: int) -> None:
            nonlocal done
            try:
                await client.create(a_sized_pod(f"pod-{turn}-{number}", {"cpu": "2"}))
            except Forbidden:
                return
            except Failure:
                return
            done += 1
            if done == 20 * (turn + 1):
                server.kill()

        await asyncio.gather(*(write(number) for number in range(2 * LIMIT)))


async def test_a_status_somebody_writes_is_put_right(provoked: Cluster) -> None:
    async with provoked.client("written") as client:
        await client.create(a_namespace("written"))
        await enforced(client, a_quota("few", {"pods": "3"}), "written")
        quota: Object = await client.get("resourcequotas", "few")
        await client.write_status({**quota, "status": {"hard": {"pods": "9"}, "used": {"pods": "7"}}})
        assert await used(client, "few", "written", {"pods": "0"}) == {"pods": "0"}
