"""What the client does with answers: trying again, collecting pages, telling warnings, finding kinds."""

from __future__ import annotations

from typing import ClassVar

import pytest

from tests.builders import a_config_map
from tests.client.stub import Seen, Stub, Wire, serving
from trainshed.client.client import Client
from trainshed.client.failures import Disconnected, UnknownKind, Unreachable
from trainshed.client.requests import Resource, Where
from trainshed.client.retries import Patience
from trainshed.client.transport import HttpTransport
from trainshed.kube.faults import Conflict, Expired, TooManyRequests, Unavailable
from trainshed.kube.objects import JSON, Object, copied
from trainshed.loop.caches import Caches

MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)


class Waits:
    """A clock that only writes down how long it was asked to wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def patience(self, attempts: int = 5) -> Patience:
        return Patience(attempts, sleep=self.sleep, chance=lambda: 1.0)


@pytest.fixture
def waits() -> Waits:
    return Waits()


def a_client(stub: Stub, waits: Waits, attempts: int = 5) -> Client:
    return Client(HttpTransport(stub.config()), patience=waits.patience(attempts))


class Replies:
    """Answers one after the other; the last one again and again. None hangs up."""

    def __init__(self, *answers: tuple[int, JSON, dict[str, str]] | None) -> None:
        self._answers = list(answers)

    async def __call__(self, request: Seen, wire: Wire) -> None:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            wire.cut()
        else:
            await wire.answer(answer[0], answer[1], **answer[2])


OK = (200, {"kind": "ConfigMap"}, dict[str, str]())
BUSY = (429, {"kind": "Status", "reason": "TooManyRequests", "message": "busy"}, {"Retry_After": "7"})
DOWN = (503, b"down", dict[str, str]())


class TestHolding:
    """Answers to writes whose objects somebody has already."""

    META: ClassVar = {"namespace": "n", "name": "a", "uid": "u", "resourceVersion": "7"}
    MADE: ClassVar = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"a": "1"}}

    async def test_what_the_caches_have_in_this_version_is_not_read_again(self, waits: Waits) -> None:
        caches, mine = Caches(), copied(self.MADE)
        caches.add("configmaps", MAPS).learn(mine)
        async with serving(Replies((200, self.MADE, {}))) as stub, a_client(stub, waits) as client:
            client.hold(caches.held)
            assert await client.patch(MAPS, "a", {}, "n") is mine
            assert await client.get(MAPS, "a", "n") is not mine  # who reads may do with it what it likes

    @pytest.mark.parametrize(
        "other",
        [
            {"metadata": {**META, "resourceVersion": "8"}},
            {"metadata": {**META, "uid": "v"}},
            {"metadata": {**META, "name": "b"}},
            {"metadata": {**META, "namespace": "m"}},
            {"kind": "Scale"},
        ],
    )
    async def test_any_other_object_is_read(self, waits: Waits, other: Object) -> None:
        caches, sent = Caches(), {**self.MADE, **other}
        caches.add("configmaps", MAPS).learn(copied(self.MADE))
        async with serving(Replies((200, sent, {}))) as stub, a_client(stub, waits) as client:
            client.hold(caches.held)
            assert await client.patch(MAPS, "a", {}, "n") == sent

    async def test_refusals_and_what_is_no_object_are_read_as_ever(self, waits: Waits) -> None:
        refused = (409, {"kind": "Status", "reason": "Conflict", "message": "old"}, dict[str, str]())
        replies = Replies(refused, (200, {"kind": "Status"}, {}))
        async with serving(replies) as stub, a_client(stub, waits) as client:
            client.hold(Caches().held)
            with pytest.raises(Conflict):
                await client.patch(MAPS, "a", {}, "n")
            assert await client.patch(MAPS, "a", {}, "n") == {"kind": "Status"}


class TestRetries:
    async def test_a_busy_server_is_asked_again_when_it_said(self, waits: Waits) -> None:
        async with serving(Replies(BUSY, BUSY, OK)) as stub, a_client(stub, waits) as client:
            await client.patch(MAPS, "a", {})
        assert (waits.seconds, len(stub.seen)) == ([7.0, 7.0], 3)

    async def test_patience_ends(self, waits: Waits) -> None:
        async with serving(Replies(BUSY)) as stub, a_client(stub, waits, attempts=3) as client:
            with pytest.raises(TooManyRequests, match="busy"):
                await client.get(MAPS, "a")
        assert len(stub.seen) == 3

    async def test_a_read_is_repeated_when_the_server_is_down(self, waits: Waits) -> None:
        async with serving(Replies(DOWN, None, OK)) as stub, a_client(stub, waits) as client:
            assert await client.get(MAPS, "a") == {"kind": "ConfigMap"}
        assert waits.seconds == sorted(waits.seconds)

    async def test_a_write_the_server_may_have_done_is_not_repeated(self, waits: Waits) -> None:
        async with serving(Replies(DOWN, None, OK)) as stub, a_client(stub, waits) as client:
            with pytest.raises(Unavailable):
                await client.patch(MAPS, "a", {})
            with pytest.raises(Disconnected):
                await client.patch(MAPS, "a", {})
        assert (len(stub.seen), waits.seconds) == (2, [])

    async def test_an_apply_may_be_repeated(self, waits: Waits) -> None:
        discovery = (
            200,
            {
                "groupVersion": "v1",
                "resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}],
            },
            dict[str, str](),
        )
        async with serving(Replies(discovery, None, DOWN, OK)) as stub, a_client(stub, waits) as client:
            await client.apply(a_config_map("a"))
        assert len(stub.seen) == 4

    async def test_a_refusal_stands(self, waits: Waits) -> None:
        conflict = (409, {"kind": "Status", "reason": "Conflict", "message": "no"}, dict[str, str]())
        async with serving(Replies(conflict)) as stub, a_client(stub, waits) as client:
            with pytest.raises(Conflict):
                await client.patch(MAPS, "a", {})
        assert len(stub.seen) == 1

    async def test_a_server_that_is_not_there_is_waited_for(self, waits: Waits) -> None:
        async with serving(Replies(OK)) as stub:
            gone = stub
        async with a_client(gone, waits, attempts=4) as client:
            with pytest.raises(Unreachable):
                await client.patch(MAPS, "a", {})
        assert waits.seconds == [0.1, 0.2, 0.4]


class TestPages:
    @staticmethod
    def page(names: str, token: str = "", revision: str = "5") -> tuple[int, JSON, dict[str, str]]:
        meta = {"resourceVersion": revision, **({"continue": token} if token else {})}
        items = [{"metadata": {"name": name}} for name in names]
        return 200, {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": items}, {}

    async def test_all_pages_are_one_list_of_typed_items(self, waits: Waits) -> None:
        async with (
            serving(Replies(self.page("ab", "more"), self.page("c", revision="9"))) as stub,
            a_client(stub, waits) as client,
        ):
            found = await client.list(MAPS, where=Where(labels="x=y", revision="3", match="Exact", limit=2))
        assert [item["metadata"]["name"] for item in found.items] == ["a", "b", "c"]
        assert (found.items[0]["kind"], found.revision) == ("ConfigMap", "5")
        first, second = (seen.query for seen in stub.seen)
        assert (first["resourceVersion"], first["resourceVersionMatch"], first["limit"]) == (
            "3",
            "Exact",
            "2",
        )
        assert second == {"labelSelector": "x=y", "limit": "2", "continue": "more"}

    async def test_pages_that_expire_become_one_whole_list(self, waits: Waits) -> None:
        expired = (410, {"kind": "Status", "reason": "Expired", "message": "old"}, dict[str, str]())
        replies = Replies(self.page("ab", "more"), expired, self.page("abc", revision="9"))
        async with serving(replies) as stub, a_client(stub, waits) as client:
            found = await client.list(MAPS)
        assert ([item["metadata"]["name"] for item in found.items], found.revision) == (["a", "b", "c"], "9")
        assert "limit" not in stub.seen[-1].query

    async def test_a_first_page_that_expired_is_told(self, waits: Waits) -> None:
        expired = (410, {"kind": "Status", "reason": "Expired", "message": "old"}, dict[str, str]())
        async with serving(Replies(expired)) as stub, a_client(stub, waits) as client:
            with pytest.raises(Expired):
                await client.list(MAPS)


class TestWarnings:
    async def test_warnings_are_told(self, waits: Waits) -> None:
        told: list[str] = []
        reply = Replies((200, {}, {"Warning": '299 - "careful"'}))
        async with (
            serving(reply) as stub,
            Client(HttpTransport(stub.config()), on_warning=told.append) as client,
        ):
            await client.get(MAPS, "a")
        assert told == ["careful"]


class TestKinds:
    async def test_a_kind_made_a_moment_ago_is_found(self, waits: Waits) -> None:
        served: list[JSON] = []

        async def discovery(request: Seen, wire: Wire) -> None:
            await wire.answer(200, {"groupVersion": "g/v1", "resources": served})

        thing = {"apiVersion": "g/v1", "kind": "Thing"}
        async with serving(discovery) as stub, a_client(stub, waits) as client:
            with pytest.raises(UnknownKind, match='no matches for kind "Thing" in version "g/v1"'):
                await client.resource_of(thing)
            served.append({"name": "things", "kind": "Thing", "namespaced": True})
            assert await client.resource_of(thing) == Resource("g", "v1", "things", "Thing", True)
            before = len(stub.seen)
            await client.resource_of(thing)
        assert len(stub.seen) == before

    async def test_a_group_whose_server_is_down_does_not_hide_the_others(self, waits: Waits) -> None:
        async def discovery(request: Seen, wire: Wire) -> None:
            if request.path == "/api":
                await wire.answer(200, {"kind": "APIVersions", "versions": ["v1"]})
            elif request.path == "/apis":
                groups = [{"versions": [{"groupVersion": it}]} for it in ("metrics/v1", "batch/v1")]
                await wire.answer(200, {"kind": "APIGroupList", "groups": groups})
            elif request.path == "/apis/metrics/v1":
                await wire.answer(503, b"down")
            else:
                version = request.path.removeprefix("/apis/").removeprefix("/api/")
                resource = {"name": "jobs", "kind": "Job", "namespaced": True}
                await wire.answer(
                    200, {"groupVersion": version, "resources": [resource] if "/" in version else []}
                )

        async with serving(discovery) as stub, a_client(stub, waits, attempts=1) as client:
            assert await client.resource("jobs") == Resource("batch", "v1", "jobs", "Job", True)
            with pytest.raises(UnknownKind, match='the server doesn\'t have a resource type "nothings"'):
                await client.resource("nothings")
