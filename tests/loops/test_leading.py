"""Several operators, one leader: by a Lease on the real server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests import waits
from tests.loops.operators import Operator
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.loop import election
from trainshed.loop.controller import Controller, Watch
from trainshed.loop.keys import Key
from trainshed.loop.outcome import After, Outcome
from trainshed.loop.running import utc_now
from trainshed.loop.world import World

LEASES = "leases.coordination.k8s.io"


@pytest.fixture(autouse=True)
def short_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "DURATION", 2)
    monkeypatch.setattr(election, "RENEW_WITHIN", 1.0)
    monkeypatch.setattr(election, "RETRY", 0.1)


class Crew:
    """Operators that note who made a pass."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace
        self.working: list[str] = []

    @asynccontextmanager
    async def member(self, identity: str) -> AsyncIterator[Operator]:
        async def reconcile(key: Key, world: World) -> Outcome:
            if key.namespace == self._namespace:
                self.working.append(identity)
            return After(0.02)

        controller = Controller("crew", (Watch("serviceaccounts"),), reconcile)
        async with self._cluster.client(self._namespace) as client:
            operator = Operator(client, [controller], lease=f"{self._namespace}/crew", identity=identity)
            await operator.start()
            try:
                yield operator
            finally:
                await operator.stop()

    async def until_works(self, identity: str) -> None:
        self.working.clear()

        async def works() -> None:
            assert identity in self.working

        await waits.eventually(works)


async def holder(client: Client) -> object:
    return (await client.get(LEASES, "crew"))["spec"]["holderIdentity"]


@pytest.fixture
def crew(cluster: Cluster, client: Client) -> Crew:
    return Crew(cluster, client.namespace)


async def test_only_the_holder_of_the_lease_works(client: Client, crew: Crew) -> None:
    async with crew.member("one"), crew.member("two"):
        await crew.until_works("one")
        await asyncio.sleep(0.3)
        assert set(crew.working) == {"one"}
        assert await holder(client) == "one"


async def test_whoever_waits_says_once_for_whom(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "trainshed.loop.leading")
    async with crew.member("one"):
        await crew.until_works("one")
        async with crew.member("two"):
            await waits.eventually(lambda: _said(caplog, "two waits: one leads by lease crew"))
            await crew.until_works("one")
    assert [record.getMessage() for record in caplog.records].count("two waits: one leads by lease crew") == 1


async def _said(caplog: pytest.LogCaptureFixture, words: str) -> None:
    assert words in [record.getMessage() for record in caplog.records]


async def test_a_leader_that_ends_hands_the_lease_over_at_once(client: Client, crew: Crew) -> None:
    async with crew.member("two-waits") as waiting:
        await crew.until_works("two-waits")
        await waiting.stop()
        assert await holder(client) == ""
        async with crew.member("three"):
            await crew.until_works("three")
            assert (await client.get(LEASES, "crew"))["spec"]["leaseTransitions"] == 1


async def test_a_leader_hands_over_a_lease_that_has_changed_since_it_looked(
    client: Client, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(election, "RETRY", 60.0)
    async with crew.member("one") as leader:
        await crew.until_works("one")
        await client.patch(LEASES, "crew", {"metadata": {"labels": {"changed": "true"}}})
        await leader.stop()
        assert await holder(client) == ""


async def test_a_dead_leader_is_followed_when_its_lease_has_run_out(client: Client, crew: Crew) -> None:
    dead = election.claimed(election.blank("crew", client.namespace), "dead", utc_now())
    await client.create(dead)
    async with crew.member("next"):
        await crew.until_works("next")
        assert await holder(client) == "next"


async def test_a_leader_whose_lease_was_taken_stops_working(client: Client, crew: Crew) -> None:
    async with crew.member("one"):
        await crew.until_works("one")
        await waits.eventually(lambda: _take(client, "thief"))

        async def stopped() -> None:
            crew.working.clear()
            await asyncio.sleep(0.2)
            assert not crew.working

        await waits.eventually(stopped)


async def _take(client: Client, identity: str) -> None:
    lease = await client.get(LEASES, "crew")
    taken = election.claimed(lease, identity, utc_now())
    taken["spec"]["leaseDurationSeconds"] = 60
    del taken["metadata"]["resourceVersion"]
    await client.replace(taken)
