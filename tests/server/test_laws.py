"""Laws that hold through the API for all objects: what is read can be written, what is watched adds up."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import a_config_map, a_job
from tests.server import samples
from tests.server.ledger import CONFIG_MAPS
from tests.server.routes import Route
from tests.server.wire import Reply, Wire
from tests.servers import Cluster
from trainshed.client import answers, requests
from trainshed.client.requests import ALL, Where
from trainshed.client.transport import HttpTransport
from trainshed.kube.objects import Object, copied, decode

SEED = 20263
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
FOR_SERVER = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "namespace")
thorough = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
keys = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=3)
members = st.dictionaries(keys, st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5)
maybe = st.dictionaries(keys, st.none() | st.text("xyz", max_size=3), max_size=5)


def revision(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


def created(wire: Wire, route: Route, space: str, name: str) -> tuple[str, Object]:
    """A new sample of a route's kind and its path."""
    made = wire.ask("POST", route.path(space), samples.in_namespace(samples.sample(route, name), space))
    assert made.code == 201, f"{route.resource}: {made.text}"
    obj = made.object()
    return route.path(space, obj["metadata"]["name"]), obj


def stored(routes: Sequence[Route]) -> list[Route]:
    return [route for route in routes if not route.subresource and samples.kept(route.verbs)]


class TestEveryKind:
    def test_writing_back_what_was_read_changes_nothing(
        self, wire: Wire, space: str, all_routes: Sequence[Route]
    ) -> None:
        for route in stored(all_routes):
            path, _ = created(wire, route, space, "law-put")
            read = wire.ask("GET", path)
            assert wire.ask("PUT", path, read.body).body == read.body, route.resource
            assert wire.ask("PATCH", path, {}, MERGE).body == read.body, route.resource
            assert wire.ask("PATCH", path, [], "application/json-patch+json").body == read.body, (
                route.resource
            )
            assert wire.ask("GET", path).body == read.body
            wire.ask("DELETE", path)

    def test_pruning_and_defaulting_are_idempotent(
        self, wire: Wire, space: str, all_routes: Sequence[Route]
    ) -> None:
        """An object made from a stored one is the same: nothing more is added, nothing more removed."""
        for route in stored(all_routes):
            if route.plural == "jobs":
                continue  # the selector of a Job is made from its uid and may not be given
            path, first = created(wire, route, space, "law-default")
            bare = copied(first)
            bare["metadata"] = {
                key: value for key, value in bare["metadata"].items() if key not in FOR_SERVER
            }
            wire.ask("DELETE", f"{path}?gracePeriodSeconds=0")
            again = wire.ask("POST", f"{route.path(space)}?dryRun=All&fieldValidation=Strict", bare)
            if again.code == 409:  # still leaving
                continue
            assert again.code == 201, f"{route.resource}: {again.text}"
            assert _content(again.object()) == _content(first), route.resource

    def test_unknown_fields_vanish_without_a_trace(
        self, wire: Wire, space: str, all_routes: Sequence[Route]
    ) -> None:
        for route in stored(all_routes):
            if route.api_version == "kubeflow.org/v1beta1":
                continue  # Katib's schemas keep what they do not know
            sound = samples.in_namespace(samples.sample(route, "law-prune"), space)
            extra = sound | {"metadata": sound["metadata"] | {"nope": 1}, "nope": {"deep": [1]}}
            target = f"{route.path(space)}?dryRun=All&fieldValidation=Ignore"
            pair = [wire.ask("POST", target, body) for body in (sound, extra)]
            assert [reply.code for reply in pair] == [201, 201], pair[1].text
            assert _content(pair[0].object()) == _content(pair[1].object()), route.resource

    def test_revision_and_generation_count_what_they_should(
        self, wire: Wire, space: str, all_routes: Sequence[Route]
    ) -> None:
        with_status = {
            (route.group, route.version, route.plural)
            for route in all_routes
            if route.subresource == "status"
        }
        for route in stored(all_routes):
            path, first = created(wire, route, space, "law-count")
            labelled = wire.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE).object()
            assert revision(labelled) > revision(first), route.resource
            assert labelled["metadata"].get("generation") == first["metadata"].get("generation"), (
                route.resource
            )
            assert labelled["metadata"]["uid"] == first["metadata"]["uid"]
            if (route.group, route.version, route.plural) in with_status:
                body = {"spec": {"nope": 1}, "metadata": {"labels": {"a": "c"}}}
                told = wire.ask("PATCH", f"{path}/status", body, MERGE).object()
                assert told.get("spec") == labelled.get("spec"), (
                    f"{route.resource}: a status write reached the spec"
                )
                assert told["metadata"].get("generation") == first["metadata"].get("generation"), (
                    route.resource
                )
            wire.ask("DELETE", path)

    def test_a_deleted_object_is_not_the_next_of_its_name(self, wire: Wire, space: str) -> None:
        maps = f"/api/v1/namespaces/{space}/configmaps"
        seen = []
        for _ in range(3):
            seen.append(wire.ask("POST", maps, a_config_map("again")).object()["metadata"])
            assert wire.ask("DELETE", f"{maps}/again").code == 200
        assert len({meta["uid"] for meta in seen}) == 3
        assert wire.ask("PUT", f"{maps}/again", a_config_map("again", uid=seen[0]["uid"])).code in (404, 409)


def _content(obj: Object) -> str:
    """The object as text, without what is drawn anew for each: its uid, times, addresses and token."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in FOR_SERVER}
    text = json.dumps(obj | {"metadata": meta}, sort_keys=True).replace(obj["metadata"]["uid"], "UID")
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b10(\.\d+){3}\b|(?<=kube-api-access-)\w{5}", "DRAWN", text)


class TestGeneration:
    def test_grows_by_one_with_every_change_of_the_spec_and_with_nothing_else(
        self, wire: Wire, space: str
    ) -> None:
        jobs = f"/apis/batch/v1/namespaces/{space}/jobs"
        job = wire.ask("POST", jobs, a_job("g")).object()
        assert job["metadata"]["generation"] == 1
        random, expected, last = Random(SEED), 1, revision(job)
        for number in range(40):
            change, counts = random.choice(
                [
                    ({"spec": {"parallelism": number + 2}}, 1),
                    ({"metadata": {"annotations": {"n": str(number)}}}, 0),
                    ({"spec": {"suspend": None}, "metadata": {"labels": {"n": str(number)}}}, 0),
                    ({"metadata": {"generation": 77}}, None),
                    ({}, None),
                ]
            )
            found = wire.ask("PATCH", f"{jobs}/g", change, MERGE).object()["metadata"]
            expected += counts or 0
            assert found["generation"] == expected, change
            assert (int(found["resourceVersion"]) > last) == (counts is not None), change
            last = int(found["resourceVersion"])


class TestPatches:
    @thorough
    @given(before=members, patch=maybe)
    def test_a_merge_patch_twice_is_a_merge_patch_once(
        self, wire: Wire, space: str, before: dict[str, str], patch: dict[str, str | None]
    ) -> None:
        path = _replaced(wire, space, before)
        once = wire.ask("PATCH", path, {"data": patch}, MERGE)
        assert once.code == 200, once.text
        assert wire.ask("PATCH", path, {"data": patch}, MERGE).body == once.body
        kept = {key: value for key, value in (before | patch).items() if value is not None}
        assert (once.object().get("data") or {}) == kept

    @thorough
    @given(before=members, patch=maybe)
    def test_a_strategic_patch_of_maps_is_a_merge_patch(
        self, wire: Wire, space: str, before: dict[str, str], patch: dict[str, str | None]
    ) -> None:
        path = _replaced(wire, space, before)
        merged = wire.ask("PATCH", f"{path}?dryRun=All", {"data": patch}, MERGE).object()
        strategic = "application/strategic-merge-patch+json"
        assert wire.ask("PATCH", f"{path}?dryRun=All", {"data": patch}, strategic).object().get(
            "data"
        ) == merged.get("data")

    @thorough
    @given(first=members, second=members, later=members)
    def test_apply_of_disjoint_owners_commutes(
        self, wire: Wire, space: str, first: dict[str, str], second: dict[str, str], later: dict[str, str]
    ) -> None:
        """Two owners of different keys, then a new wish of the first: the order does not matter."""
        wishes = {"one": _prefixed("a", first), "two": _prefixed("b", second)}
        results = []
        for order in (("one", "two"), ("two", "one")):
            path = f"/api/v1/namespaces/{space}/configmaps/ssa"
            wire.ask("DELETE", path)
            for owner in order:
                assert _applied(wire, path, owner, wishes[owner]).code in (200, 201)
            _applied(wire, path, "one", _prefixed("a", later))
            results.append(wire.ask("GET", path).object())
        assert (
            results[0].get("data")
            == results[1].get("data")
            == (_prefixed("a", later) | wishes["two"] or None)
        )
        assert _owners(results[0]) == _owners(results[1])

    @thorough
    @given(wish=members)
    def test_the_same_wish_twice_changes_nothing(self, wire: Wire, space: str, wish: dict[str, str]) -> None:
        path = f"/api/v1/namespaces/{space}/configmaps/twice"
        once = _applied(wire, path, "one", wish)
        again = _applied(wire, path, "one", wish)
        assert (once.code in (200, 201), again.body) == (True, once.body)


def _replaced(wire: Wire, space: str, data: dict[str, str]) -> str:
    maps = f"/api/v1/namespaces/{space}/configmaps"
    if wire.ask("PUT", f"{maps}/law", a_config_map("law", data)).code == 404:
        assert wire.ask("POST", maps, a_config_map("law", data)).code == 201
    return f"{maps}/law"


def _prefixed(prefix: str, data: dict[str, str]) -> dict[str, str]:
    return {f"{prefix}-{key}": value for key, value in data.items()}


def _applied(wire: Wire, path: str, owner: str, data: dict[str, str]) -> Reply:
    body = a_config_map(path.rpartition("/")[2]) | ({"data": data} if data else {})
    return wire.ask("PATCH", f"{path}?fieldManager={owner}", body if data else _dataless(body), APPLY)


def _dataless(body: Object) -> Object:
    return {key: value for key, value in body.items() if key != "data"}


def _owners(obj: Object) -> list[tuple[str, str, str]]:
    entries = obj["metadata"].get("managedFields") or []
    return sorted((entry["manager"], entry["operation"], str(entry["fieldsV1"])) for entry in entries)


WHERES = (
    Where(), Where(labels="color=red"), Where(labels="color!=red"), Where(labels="color in (red,blue),size"),
    Where(labels="!color"), Where(fields="metadata.name=m-3"), Where(labels="size",
    fields="metadata.name!=m-1"),
)  # fmt: skip


class Mirror:
    """What one watcher knows: begun with a list, kept by events that must follow from one another."""

    def __init__(self, page: Object) -> None:
        self.state = {_key(item): revision(item) for item in page["items"]}
        self.revision = revision(page)
        self.changed = asyncio.Event()

    async def keep(self, transport: HttpTransport, place: str, where: Where) -> None:
        onward = dataclasses.replace(where, revision=str(self.revision))
        async with transport.stream(requests.watch(CONFIG_MAPS, place, onward)) as stream:
            async for line in stream.lines():
                self._see(decode(line))

    async def becomes(self, page: Object) -> None:
        """Returns as soon as the mirror shows what the list shows."""
        wanted = {_key(item): revision(item) for item in page["items"]}
        try:
            async with asyncio.timeout(20):
                while self.state != wanted:
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise AssertionError(f"{self.state} is not {wanted}") from None

    def _see(self, event: Object) -> None:
        key, number = _key(event["object"]), revision(event["object"])
        assert number > self.revision, "events must come in the order of their revisions"
        self.revision = number
        assert (event["type"] == "ADDED") == (key not in self.state), event
        if event["type"] == "DELETED":
            del self.state[key]
        else:
            self.state[key] = number
        self.changed.set()


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


@pytest.mark.parametrize("everywhere", [False, True])
async def test_list_then_watch_equals_list_later(
    provoked: Cluster, wire: Wire, space: str, everywhere: bool
) -> None:
    """Watchers with all kinds of selectors, begun amid random writes, end with what is then listed."""
    place = ALL if everywhere else space
    async with HttpTransport(provoked.config()) as transport, asyncio.timeout(60):

        async def listed(where: Where) -> Object:
            return answers.read_object(await transport.send(requests.list(CONFIG_MAPS, place, where)))

        writers = [asyncio.create_task(_write(transport, space, Random(SEED + n), 60)) for n in range(6)]
        mirrors = []
        for where in WHERES * 2:
            mirrors.append((where, Mirror(await listed(where))))
        keeping = [asyncio.create_task(mirror.keep(transport, place, where)) for where, mirror in mirrors]
        await asyncio.gather(*writers)
        for where, mirror in mirrors:
            await mirror.becomes(await listed(where))
        for task in keeping:
            assert not task.done() or task.result() is None
            task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)


async def _write(transport: HttpTransport, space: str, random: Random, count: int) -> None:
    """Create, relabel and delete a few objects over and over; others do the same to the same ones."""
    for _ in range(count):
        name = f"m-{random.randrange(8)}"
        wanted = {"color": random.choice(("red", "blue", None)), "size": random.choice(("1", None))}
        labels = {key: value for key, value in wanted.items() if value}
        request = random.choice(
            [
                requests.create(CONFIG_MAPS, a_config_map(name, labels=labels), space),
                requests.patch(CONFIG_MAPS, name, {"metadata": {"labels": wanted}}, space),
                requests.replace(
                    CONFIG_MAPS, a_config_map(name, {"n": str(random.random())}, labels=labels), space
                ),
                requests.delete(CONFIG_MAPS, name, space),
            ]
        )
        assert (await transport.send(request)).code in (200, 201, 404, 409)
