"""The reconcile engine against the real server: what passes are made, what they see, and trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import waits
from tests.builders import a_config_map, a_namespace, a_secret, owner
from tests.loops.operators import Operator, operating
from tests.servers import Cluster, Server
from trainshed.client.client import Client
from trainshed.client.failures import UnknownKind
from trainshed.client.kubeconfig import Config
from trainshed.client.requests import Request, Where
from trainshed.client.transport import HttpTransport, Stream
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import Object
from trainshed.loop.controller import Controller, Watch, no_keys, owner_keys
from trainshed.loop.keys import Key
from trainshed.loop.outcome import After, Done, Outcome, Permanent, Temporary
from trainshed.loop.world import World

LABEL = "trainshed.dev/test"
Pass = Callable[[Key, World], Awaitable[Outcome]]


@dataclass
class Spy:
    """A controller of ConfigMaps that does what the test says and tells of each pass over one name."""

    name: str
    act: Pass | None = None
    passes: asyncio.Queue[Object | None] = field(default_factory=asyncio.Queue)

    async def reconcile(self, key: Key, world: World) -> Outcome:
        if key.name != self.name:
            return Done()
        self.passes.put_nowait(world.cache("configmaps").get(key))
        return await self.act(key, world) if self.act else Done()

    def controller(self, *more: Watch, label: str = LABEL) -> Controller:
        watches = (Watch("configmaps", index_labels=(label,)), *more)
        return Controller("spy", watches, self.reconcile)

    async def next(self) -> Object | None:
        return await asyncio.wait_for(self.passes.get(), waits.SECONDS)

    async def until(self, claim: Callable[[Object | None], object]) -> None:
        while not claim(await self.next()):
            pass


@pytest.fixture
def spy(name: str) -> Spy:
    return Spy(name)


# --- what passes are made -----------------------------------------------------------------------------------


async def test_each_change_of_an_object_is_followed_by_a_pass(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    await client.create(a_config_map(spy.name))
    async with operating(cluster, spy.controller()):
        assert await spy.next() is not None
        await client.patch("configmaps", spy.name, {"data": {"a": "1"}})
        await spy.until(lambda found: found and found["data"] == {"a": "1"})
        await client.delete("configmaps", spy.name)
        await spy.until(lambda found: found is None)


async def test_a_change_of_a_child_is_followed_by_a_pass_over_its_owner(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    parent = await client.create(a_config_map(spy.name))
    async with operating(cluster, spy.controller(Watch("secrets", owner_keys("ConfigMap", "")))):
        await spy.next()
        child = a_secret(f"{spy.name}-child", ownerReferences=[owner(parent, controller=True)])
        await client.create(child)
        await spy.next()
        await client.patch("secrets", f"{spy.name}-child", {"metadata": {"ownerReferences": None}})
        await spy.next()


class Counting(HttpTransport):
    """Notes what is watched."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.watched: list[str] = []

    @asynccontextmanager
    async def stream(self, request: Request, within: float | None = None) -> AsyncIterator[Stream]:
        if dict(request.query).get("watch"):
            self.watched.append(request.path)
        async with super().stream(request, within) as stream:
            yield stream


async def test_one_watch_per_kind_serves_all_controllers(cluster: Cluster, client: Client, spy: Spy) -> None:
    transport = Counting(cluster.config())
    other = Controller("other", (Watch("cm"), Watch("secrets", no_keys)), spy.reconcile)
    async with Client(transport) as counted:
        operator = Operator(counted, [spy.controller(Watch("secrets", no_keys)), other])
        await operator.start()
        await client.create(a_config_map(spy.name))
        await spy.next()
        await operator.stop()
    assert sorted(transport.watched) == ["/api/v1/configmaps", "/api/v1/secrets"]


async def test_a_pass_may_ask_for_another_one_later(cluster: Cluster, client: Client, spy: Spy) -> None:
    rest: list[Outcome] = [After(0.01), After(0.01), Done()]

    async def act(key: Key, world: World) -> Outcome:
        return rest.pop(0)

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        for _ in range(3):
            await spy.next()
    assert not rest


# --- what a pass sees ---------------------------------------------------------------------------------------


async def test_a_pass_sees_its_own_writes_at_once(cluster: Cluster, client: Client, spy: Spy) -> None:
    seen: list[object] = []

    async def act(key: Key, world: World) -> Outcome:
        mine, cache = Key(key.namespace, f"{key.name}-mine"), world.cache("configmaps")
        if world.cache("configmaps").get(key) is None or seen:
            return Done()
        await world.create(
            a_config_map(mine.name, namespace=key.namespace, labels={"trainshed.dev/test": "x"})
        )
        seen.append([obj["metadata"]["name"] for obj in cache.labelled("trainshed.dev/test", "x")])
        await world.patch("configmaps", mine.name, {"data": {"a": "2"}}, mine.namespace)
        seen.append((cache.get(mine) or {})["data"])
        await world.apply(a_config_map(mine.name, {"b": "3"}, namespace=key.namespace), force=True)
        seen.append((cache.get(mine) or {})["data"])
        await world.delete("configmaps", mine.name, mine.namespace)
        seen.append(cache.get(mine))
        return Done()

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        await spy.next()
        await waits.eventually(_has(seen, 4))
    assert seen == [[f"{spy.name}-mine"], {"a": "2"}, {"a": "2", "b": "3"}, None]


def _has(seen: list[object], count: int) -> Callable[[], Awaitable[None]]:
    async def check() -> None:
        assert len(seen) == count

    return check


async def test_what_the_server_does_not_find_is_gone_at_once(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    seen: list[object] = []

    async def act(key: Key, world: World) -> Outcome:
        if world.cache("configmaps").get(key) is None or seen:
            return Done()
        # By another connection, so that only the answer of the next write can tell.
        await world.client.delete("configmaps", key.name, key.namespace)
        with pytest.raises(NotFound):
            await world.patch("configmaps", key.name, {"data": {}}, key.namespace)
        seen.append(world.cache("configmaps").get(key))
        return Done()

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        await waits.eventually(_has(seen, 1))
    assert seen == [None]


async def test_writes_are_signed_with_the_name_of_the_controller(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    async def act(key: Key, world: World) -> Outcome:
        if world.cache("configmaps").get(key) is not None:
            await world.apply(a_config_map(key.name, {"by": "spy"}, namespace=key.namespace))
        return Done()

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        await waits.until(client, "configmaps", spy.name, lambda obj: (obj.get("data") or {}).get("by"))
    found = await client.get("configmaps", spy.name)
    assert "spy" in [entry["manager"] for entry in found["metadata"]["managedFields"]]


# --- trouble ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [Temporary("not yet"), NotFound("where?"), RuntimeError("a mistake")])
async def test_a_failed_pass_is_made_again(
    cluster: Cluster, client: Client, spy: Spy, trouble: Exception
) -> None:
    left = [trouble, trouble]

    async def act(key: Key, world: World) -> Outcome:
        if left:
            raise left.pop()
        return Done()

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        for _ in range(3):
            await spy.next()


async def test_a_pass_that_gave_up_is_made_again_when_something_changes(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    async def act(key: Key, world: World) -> Outcome:
        raise Permanent("it will not work")

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        await spy.next()
        await asyncio.sleep(0.1)
        assert spy.passes.empty()
        await client.patch("configmaps", spy.name, {"data": {"a": "1"}})
        await spy.next()


async def test_a_pass_in_a_namespace_on_its_way_out_is_not_made_again(
    cluster: Cluster, spy: Spy, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(key: Key, world: World) -> Outcome:
        world.event(a_config_map("late", namespace=key.namespace), "Warning", "Late", "one of many")
        await world.create(a_config_map("late", namespace=key.namespace))
        return Done()

    async with cluster.client(name) as client:
        await client.create(a_namespace(name))
        await client.create(a_config_map(spy.name, finalizers=["example.com/hold"]))
        await client.delete("namespaces", name)
        await waits.until(client, "namespaces", name, lambda it: it["metadata"].get("deletionTimestamp"))
        await waits.until(client, "configmaps", spy.name, lambda it: it["metadata"].get("deletionTimestamp"))
        spy.act = act
        caplog.set_level("DEBUG", "trainshed.loop")
        async with operating(cluster, spy.controller()):
            await spy.next()
            await client.patch("configmaps", spy.name, {"data": {"a": "1"}})
            await spy.next()
        assert "spy leaves" in caplog.text
        assert "will try" not in caplog.text
        await client.patch("configmaps", spy.name, {"metadata": {"finalizers": None}})


async def test_an_object_nobody_foresaw_does_not_stop_the_watch(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    def keys(obj: Object) -> list[Key]:
        raise KeyError("spec")

    async with operating(cluster, spy.controller(Watch("configmaps", keys))):
        await client.create(a_config_map(spy.name))
        await spy.next()


async def test_a_controller_of_a_kind_that_is_not_there_is_left_out_or_refused(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    missing = (Watch("flyingsaucers.example.com"),)
    optional = Controller("saucers", missing, spy.reconcile, optional=True)
    async with operating(cluster, optional, spy.controller()):
        await client.create(a_config_map(spy.name))
        await spy.next()
    with pytest.raises(UnknownKind):
        async with operating(cluster, Controller("saucers", missing, spy.reconcile)):
            pass


async def test_passes_go_on_after_the_server_was_killed(tmp_path: Path, spy: Spy) -> None:
    server = Server(tmp_path)
    cluster = server.start()
    try:
        async with cluster.client() as client, operating(cluster, spy.controller()):
            await client.create(a_config_map(spy.name))
            await spy.next()
            server.kill()
            server.start()
            await client.patch("configmaps", spy.name, {"data": {"a": "1"}})
            await spy.until(lambda found: found and found.get("data") == {"a": "1"})
    finally:
        server.stop()


# --- events -------------------------------------------------------------------------------------------------


async def events_of(client: Client, name: str) -> list[Object]:
    where = Where(fields=f"involvedObject.name={name}")
    return (await client.list("events", where=where)).items


async def test_equal_events_are_one_event_that_counts(cluster: Cluster, client: Client, spy: Spy) -> None:
    async def act(key: Key, world: World) -> Outcome:
        found = world.cache("configmaps").get(key)
        if found is not None:
            world.event(found, "Normal", "Seen", "x" * 2000)
            world.event(found, "Warning", "Odd", "as it is")
        return Done()

    async def counted(count: int) -> None:
        found = {event["reason"]: event for event in await events_of(client, spy.name)}
        assert {reason: event["count"] for reason, event in found.items()} == {"Seen": count, "Odd": count}
        assert len(found["Seen"]["message"]) == 1024
        assert found["Odd"]["type"] == "Warning"
        assert found["Odd"]["source"] == {"component": "spy"}

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        await waits.eventually(lambda: counted(1))
        await client.patch("configmaps", spy.name, {"data": {"a": "1"}})
        await waits.eventually(lambda: counted(2))


async def test_events_of_the_last_moment_are_still_written(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    async def act(key: Key, world: World) -> Outcome:
        found = world.cache("configmaps").get(key)
        if found is not None:
            for number in range(20):
                world.event(found, "Normal", f"Last{number}", "bye")
        return Done()

    spy.act = act
    async with operating(cluster, spy.controller()):
        await client.create(a_config_map(spy.name))
        await spy.next()
    assert len(await events_of(client, spy.name)) == 20


# --- watches ------------------------------------------------------------------------------------------------


class Stumbling(HttpTransport):
    """Fails in a way nobody foresaw when something is first watched."""

    stumbles = 1

    @asynccontextmanager
    async def stream(self, request: Request, within: float | None = None) -> AsyncIterator[Stream]:
        if dict(request.query).get("watch") and self.stumbles:
            self.stumbles -= 1
            raise ValueError("unforeseen")
        async with super().stream(request, within) as stream:
            yield stream


async def test_a_watch_that_fails_begins_again_and_misses_nothing(
    cluster: Cluster, client: Client, spy: Spy
) -> None:
    await client.create(a_config_map(spy.name))
    async with Client(Stumbling(cluster.config())) as stumbling:
        operator = Operator(stumbling, [spy.controller()])
        await operator.start()
        await spy.next()
        await client.delete("configmaps", spy.name)
        await spy.until(lambda found: found is None)
        await operator.stop()
