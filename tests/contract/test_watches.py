"""Watches: the stream on the wire, and the client that turns it into a gapless story."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.builders import a_config_map
from trainshed.client import answers, requests
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.client.transport import Stream
from trainshed.kube.faults import Expired, Gone
from trainshed.kube.objects import Object, decode

SECONDS = 20.0


@asynccontextmanager
async def watching(
    client: Client, where: Where, *, bookmarks: bool = False, initial: bool | None = None, seconds: int = 10
) -> AsyncIterator[Stream]:
    """One watch request on ConfigMaps, as it is on the wire."""
    request = requests.watch(
        await client.resource("configmaps"),
        client.namespace,
        where,
        timeout_seconds=seconds,
        bookmarks=bookmarks,
        initial_events=initial,
    )
    async with client.stream(request, SECONDS) as stream:
        yield stream


async def events(stream: Stream, count: int = 1000) -> list[Object]:
    """The next events, or all until the server ends the stream."""
    found: list[Object] = []
    async for line in stream.lines():
        found.append(decode(line))
        if len(found) == count:
            break
    return found


def told(events: list[Object]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


async def revision(client: Client) -> str:
    return (await client.list("configmaps", where=Where(labels="t=none"))).revision


class TestWatch:
    async def test_changes_after_a_revision_arrive_in_order(self, client: Client, name: str) -> None:
        since = await revision(client)
        async with watching(client, Where(labels=f"t={name}", revision=since)) as stream:
            await client.create(a_config_map(name, {"a": "1"}, labels={"t": name}))
            await client.patch("configmaps", name, {"data": {"a": "2"}})
            await client.delete("configmaps", name)
            found = await events(stream, 3)
        assert told(found) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]
        assert [event["object"]["data"]["a"] for event in found] == ["1", "2", "2"]

    async def test_headers_come_before_the_first_event(self, client: Client, name: str) -> None:
        async with watching(client, Where(labels=f"t={name}", revision=await revision(client))) as stream:
            assert stream.code == 200
            assert stream.headers["content-type"] == ("application/json",)

    async def test_objects_carry_their_type_and_their_own_revision(self, client: Client, name: str) -> None:
        since = await revision(client)
        async with watching(client, Where(labels=f"t={name}", revision=since)) as stream:
            made = await client.create(a_config_map(name, labels={"t": name}))
            (event,) = await events(stream, 1)
        assert event["object"] == made

    async def test_a_deletion_has_a_revision_of_its_own(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, labels={"t": name}))
        where = Where(labels=f"t={name}", revision=made["metadata"]["resourceVersion"])
        async with watching(client, where) as stream:
            await client.delete("configmaps", name)
            (event,) = await events(stream, 1)
        assert int(event["object"]["metadata"]["resourceVersion"]) > int(where.revision)

    async def test_without_a_revision_what_exists_comes_first(self, client: Client, name: str) -> None:
        for letter in "ab":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name}))
        async with watching(client, Where(labels=f"t={name}")) as stream:
            found = await events(stream, 2)
        assert sorted(told(found)) == [("ADDED", f"{name}-a"), ("ADDED", f"{name}-b")]

    async def test_the_server_ends_the_stream_when_asked_to(self, client: Client, name: str) -> None:
        where = Where(labels=f"t={name}", revision=await revision(client))
        async with watching(client, where, seconds=1) as stream:
            assert await events(stream) == []

    async def test_a_write_that_changes_nothing_is_not_told(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, {"a": "1"}, labels={"t": name}))
        async with watching(
            client, Where(labels=f"t={name}", revision=made["metadata"]["resourceVersion"])
        ) as stream:
            await client.patch("configmaps", name, {"data": {"a": "1"}})
            await client.delete("configmaps", name)
            assert told(await events(stream, 1)) == [("DELETED", name)]


class TestWatchSelectors:
    async def test_an_object_that_starts_to_match_is_added(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        since = made["metadata"]["resourceVersion"]
        async with watching(client, Where(labels=f"t={name}", revision=since)) as stream:
            await client.patch("configmaps", name, {"metadata": {"labels": {"t": name}}})
            assert told(await events(stream, 1)) == [("ADDED", name)]

    async def test_an_object_that_stops_matching_is_deleted(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, labels={"t": name}))
        since = made["metadata"]["resourceVersion"]
        async with watching(client, Where(labels=f"t={name}", revision=since)) as stream:
            changed = await client.patch("configmaps", name, {"metadata": {"labels": {"t": None}}})
            (event,) = await events(stream, 1)
        assert event["type"] == "DELETED"
        assert event["object"]["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]

    async def test_one_object_can_be_watched_by_its_name(self, client: Client, name: str) -> None:
        since = await revision(client)
        async with watching(client, Where(fields=f"metadata.name={name}", revision=since)) as stream:
            await client.create(a_config_map(f"{name}-other"))
            await client.create(a_config_map(name))
            assert told(await events(stream, 1)) == [("ADDED", name)]


class TestBookmarks:
    async def test_initial_events_end_with_a_marked_bookmark(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, labels={"t": name}))
        where = Where(labels=f"t={name}", match="NotOlderThan")
        async with watching(client, where, bookmarks=True, initial=True) as stream:
            first, last = await events(stream, 2)
        assert told([first]) == [("ADDED", name)]
        assert last["type"] == "BOOKMARK"
        assert last["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"
        assert last["object"]["kind"] == "ConfigMap"

    async def test_initial_events_need_the_matching_rule(self, client: Client) -> None:
        async with watching(client, Where(), bookmarks=True, initial=True) as stream:
            refused = answers.fault(await stream.read())
        assert refused.code == 422
        assert "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" in refused.message

    async def test_a_bookmark_comes_before_the_stream_ends(self, client: Client, name: str) -> None:
        where = Where(labels=f"t={name}", revision=await revision(client))
        async with watching(client, where, bookmarks=True, seconds=3) as stream:
            found = await events(stream)
        assert [event["type"] for event in found][-1:] in ([], ["BOOKMARK"])


class TestResume:
    async def test_a_watch_from_any_event_goes_on_with_the_next(self, client: Client, name: str) -> None:
        since = await revision(client)
        for letter in "abc":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name}))
        async with watching(client, Where(labels=f"t={name}", revision=since)) as stream:
            first, second, _ = await events(stream, 3)
        for event, rest in ((first, "bc"), (second, "c")):
            since = event["object"]["metadata"]["resourceVersion"]
            async with watching(client, Where(labels=f"t={name}", revision=since)) as stream:
                assert told(await events(stream, len(rest))) == [("ADDED", f"{name}-{it}") for it in rest]

    async def test_history_that_is_gone_is_told_as_expired(self, client: Client, name: str) -> None:
        """Revision 1 is older than what a used server keeps; one that still has it starts there."""
        await client.create(a_config_map(name, labels={"t": name}))
        async with watching(client, Where(labels=f"t={name}", revision="1")) as stream:
            if stream.code != 200:
                assert isinstance(answers.fault(await stream.read()), Expired | Gone)
                return
            (event,) = await events(stream, 1)
        status = event["object"]
        assert event["type"] == "ADDED" or (event["type"], status["code"], status["reason"]) == (
            "ERROR",
            410,
            "Expired",
        )


class TestClientWatch:
    async def test_it_tells_what_is_there_and_then_what_happens(self, client: Client, name: str) -> None:
        await client.create(a_config_map(f"{name}-a", labels={"t": name}))
        story = []
        async with (
            asyncio.timeout(SECONDS),
            client.watch("configmaps", where=Where(labels=f"t={name}")) as changes,
        ):
            async for change in changes:
                story.append(change.type)
                if change.type == "SYNCED":
                    await client.create(a_config_map(f"{name}-b", labels={"t": name}))
                    await client.delete("configmaps", f"{name}-a")
                if change.type == "DELETED":
                    break
        assert story == ["ADDED", "SYNCED", "ADDED", "DELETED"]

    async def test_a_wait_given_up_loses_nothing(self, client: Client, name: str) -> None:
        async with client.watch("configmaps", where=Where(labels=f"t={name}")) as changes:
            assert (await anext(changes)).type == "SYNCED"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(changes), 0.2)
            await client.create(a_config_map(name, labels={"t": name}))
            await client.delete("configmaps", name, options=Delete(grace_seconds=0))
            async with asyncio.timeout(SECONDS):
                assert [(await anext(changes)).type for _ in range(2)] == ["ADDED", "DELETED"]
