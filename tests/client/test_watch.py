"""A watch goes on, whatever the server and the network do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.client.stub import Seen, Stub, Wire, serving
from trainshed.client.client import Client
from trainshed.client.kubeconfig import ExecPlugin, User
from trainshed.client.requests import Resource, Where
from trainshed.client.retries import Patience
from trainshed.client.transport import HttpTransport
from trainshed.client.watch import Watch
from trainshed.kube.faults import Expired, Fault, Forbidden, InternalError, Unauthorized
from trainshed.kube.objects import Object, encode

MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
Session = Callable[[Wire], Awaitable[None]]


def an_object(name: str, revision: int, uid: str = "") -> Object:
    meta = {
        "name": name,
        "namespace": "default",
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(revision),
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


class Script:
    """Lists and watch sessions in the order they are asked for; the last session of each stays quiet."""

    def __init__(self, lists: list[tuple[str, list[Object]]], sessions: list[Session]) -> None:
        self.lists, self.sessions = lists, sessions
        self.waits: list[float] = []

    async def __call__(self, request: Seen, wire: Wire) -> None:
        if "watch" not in request.query:
            revision, items = self.lists.pop(0)
            body = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": revision}}
            await wire.answer(200, body | {"items": items})
        elif self.sessions:
            await self.sessions.pop(0)(wire)
        else:
            await wire.begin()
            await asyncio.Event().wait()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


@asynccontextmanager
async def watching(script: Script, where: Where = Where(labels="a=b")) -> AsyncIterator[tuple[Watch, Stub]]:  # noqa: B008
    patience = Patience(attempts=1, sleep=script.sleep, chance=lambda: 1.0)
    async with (
        serving(script) as stub,
        Client(HttpTransport(stub.config()), patience=patience) as client,
        asyncio.timeout(10),
        client.watch(MAPS, where=where) as watch,
    ):
        yield watch, stub


async def story(watch: Watch, count: int) -> list[tuple[str, str]]:
    found = [await anext(watch) for _ in range(count)]
    return [(change.type, (change.object.get("metadata") or {}).get("name", "")) for change in found]


def telling(*events: tuple[str, Object], then: Callable[[Wire], Awaitable[None]] | None = None) -> Session:
    """A session that tells some events and then ends as asked (orderly, unless told otherwise)."""

    async def session(wire: Wire) -> None:
        await wire.begin()
        for type, obj in events:
            await wire.event(type, obj)
        await (then or Wire.end)(wire)

    return session


async def cut(wire: Wire) -> None:
    wire.cut()


def refusing(fault: Fault) -> Session:
    async def session(wire: Wire) -> None:
        await wire.answer(fault.code, fault.status())

    return session


class TestFollowing:
    async def test_the_list_comes_first_and_the_stream_goes_on_from_it(self) -> None:
        script = Script([("5", [an_object("a", 3)])], [telling(("ADDED", an_object("b", 6)))])
        async with watching(script) as (watch, stub):
            assert await story(watch, 3) == [("ADDED", "a"), ("SYNCED", ""), ("ADDED", "b")]
        listing, stream = stub.seen[:2]
        assert listing.query["labelSelector"] == stream.query["labelSelector"] == "a=b"
        assert (stream.query["resourceVersion"], stream.query["allowWatchBookmarks"]) == ("5", "true")
        assert 240 <= int(stream.query["timeoutSeconds"]) <= 480

    @pytest.mark.parametrize("ending", [Wire.end, cut])
    async def test_a_stream_that_ends_is_taken_up_where_it_was(
        self, ending: Callable[[Wire], Awaitable[None]]
    ) -> None:
        first = telling(("ADDED", an_object("a", 6)), then=ending)
        script = Script([("5", [])], [first, telling(("ADDED", an_object("b", 7)))])
        async with watching(script) as (watch, stub):
            assert await story(watch, 3) == [("SYNCED", ""), ("ADDED", "a"), ("ADDED", "b")]
        assert stub.seen[2].query["resourceVersion"] == "6"

    async def test_a_bookmark_moves_the_place_without_being_told(self) -> None:
        bookmark = {"metadata": {"resourceVersion": "50"}}
        script = Script(
            [("5", [])], [telling(("BOOKMARK", bookmark)), telling(("ADDED", an_object("a", 51)))]
        )
        async with watching(script) as (watch, stub):
            assert await story(watch, 2) == [("SYNCED", ""), ("ADDED", "a")]
        assert stub.seen[2].query["resourceVersion"] == "50"

    async def test_half_a_line_is_forgotten_and_asked_for_again(self) -> None:
        async def break_off(wire: Wire) -> None:
            await wire.chunk(b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceV')
            wire.cut()

        script = Script([("5", [])], [telling(then=break_off), telling(("ADDED", an_object("a", 6)))])
        async with watching(script) as (watch, stub):
            assert await story(watch, 2) == [("SYNCED", ""), ("ADDED", "a")]
        assert stub.seen[2].query["resourceVersion"] == "5"

    async def test_events_told_twice_are_told_once(self) -> None:
        twice = [("ADDED", an_object("a", 6))] * 2 + [("MODIFIED", an_object("a", 7))] * 2
        script = Script([("5", [])], [telling(*twice, ("DELETED", an_object("a", 8)))])
        async with watching(script) as (watch, _):
            assert await story(watch, 4) == [
                ("SYNCED", ""),
                ("ADDED", "a"),
                ("MODIFIED", "a"),
                ("DELETED", "a"),
            ]


class TestRelisting:
    @pytest.mark.parametrize(
        "expiry",
        [telling(("ERROR", Expired("too old").status())), refusing(Expired("too old resource version"))],
    )
    async def test_lost_history_becomes_a_list_and_the_missed_changes(self, expiry: Session) -> None:
        before = [an_object("gone", 1), an_object("same", 2), an_object("new", 3), an_object("again", 4)]
        after = [
            an_object("same", 2),
            an_object("new", 9),
            an_object("again", 8, "uid-2"),
            an_object("more", 7),
        ]
        script = Script([("5", before), ("10", after)], [expiry])
        async with watching(script) as (watch, stub):
            await story(watch, 5)
            assert await story(watch, 6) == [
                ("DELETED", "gone"),
                ("MODIFIED", "new"),
                ("DELETED", "again"),
                ("ADDED", "again"),
                ("ADDED", "more"),
                ("SYNCED", ""),
            ]
            assert watch.revision == "10"
        assert "resourceVersion" not in stub.seen[2].query

    async def test_a_server_that_always_forgets_is_asked_less_and_less_often(self) -> None:
        lists: list[tuple[str, list[Object]]] = [("5", []), ("6", []), ("7", []), ("8", [])]
        script = Script(lists, [refusing(Expired("too old"))] * 3)
        async with watching(script) as (watch, _):
            await story(watch, 4)
        assert script.waits == [0.1, 0.2]


class TestTrouble:
    async def test_a_failing_server_is_waited_for_with_growing_pauses(self) -> None:
        script = Script(
            [("5", [])], [refusing(InternalError("oops"))] * 4 + [telling(("ADDED", an_object("a", 6)))]
        )
        async with watching(script) as (watch, _):
            assert await story(watch, 2) == [("SYNCED", ""), ("ADDED", "a")]
        assert script.waits == [0.1, 0.2, 0.4]

    async def test_streams_that_end_at_once_are_not_reopened_in_a_rush(self) -> None:
        script = Script([("5", [])], [telling()] * 3 + [telling(("ADDED", an_object("a", 6)))])
        async with watching(script) as (watch, _):
            await story(watch, 2)
        assert script.waits == [0.1, 0.2]

    async def test_success_ends_the_pauses(self) -> None:
        broken = refusing(InternalError("oops"))
        good = [telling(("ADDED", an_object(name, revision))) for name, revision in (("a", 6), ("b", 7))]
        script = Script([("5", [])], [broken, broken, good[0], broken, broken, good[1]])
        async with watching(script) as (watch, _):
            await story(watch, 3)
        assert script.waits == [0.1, 0.1, 0.2]

    @pytest.mark.parametrize(
        "line", [b"nonsense\n", b"7\n", b'{"type":"WHAT","object":{}}\n', b'{"type":"ADDED"}\n']
    )
    async def test_what_is_no_event_is_a_reason_to_reconnect(self, line: bytes) -> None:
        async def mumble(wire: Wire) -> None:
            await wire.chunk(line)

        script = Script([("5", [])], [telling(then=mumble), telling(("ADDED", an_object("a", 6)))])
        async with watching(script) as (watch, _):
            assert await story(watch, 2) == [("SYNCED", ""), ("ADDED", "a")]

    async def test_a_refusal_is_raised_and_the_watch_can_go_on_afterwards(self) -> None:
        script = Script([("5", [])], [refusing(Forbidden("no")), telling(("ADDED", an_object("a", 6)))])
        async with watching(script) as (watch, _):
            await story(watch, 1)
            with pytest.raises(Forbidden, match="no"):
                await anext(watch)
            assert await story(watch, 1) == [("ADDED", "a")]

    async def test_a_cancelled_wait_loses_nothing(self) -> None:
        async def hang(wire: Wire) -> None:
            await wire.chunk(b'{"type":"ADDED","obj')
            await asyncio.Event().wait()

        script = Script([("5", [])], [telling(then=hang), telling(("ADDED", an_object("a", 6)))])
        async with watching(script) as (watch, _):
            await story(watch, 1)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(watch), 0.05)
            assert await story(watch, 1) == [("ADDED", "a")]

    async def test_a_refused_token_is_renewed_once(self, tmp_path: Path) -> None:
        script = Script([("5", [])], [refusing(Unauthorized("old")), refusing(Unauthorized("old"))])
        status = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": "t"},
        }
        (tmp_path / "answer").write_bytes(encode(status))
        user = User(exec=ExecPlugin("cat", (str(tmp_path / "answer"),), interactive="Never"))
        patience = Patience(attempts=1, sleep=script.sleep)
        async with (
            serving(script) as stub,
            Client(HttpTransport(stub.config(user)), patience=patience) as client,
            client.watch(MAPS) as watch,
        ):
            await story(watch, 1)
            with pytest.raises(Unauthorized, match="old"):
                await anext(watch)
        assert len(stub.seen) == 3
