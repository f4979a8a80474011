"""Thousands of broken requests to every route: each is answered, none with a 500, and nothing stored is hurt.

The seed is fixed so that a failure can be repeated: TRAINSHED_FUZZ_SEED and TRAINSHED_FUZZ_REQUESTS vary it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from tests.server import mutations, samples
from tests.server.answers import complaint
from tests.server.growing import Garden
from tests.server.mutations import Sent
from tests.server.routes import DOCUMENTS, METHODS, Route
from tests.server.wire import Wire
from tests.servers import Server
from trainshed.kube.objects import JSON, Object

SEED = int(os.environ.get("TRAINSHED_FUZZ_SEED", "20261"))
REQUESTS = int(os.environ.get("TRAINSHED_FUZZ_REQUESTS", "4000"))
ALL_METHODS = (
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "HEAD",
    "OPTIONS",
    "TRACE",
)
VICTIM = "victim"
RESTORED_EVERY = 250


class Victims:
    """One sound object of every stored kind, made again whenever the fuzz has removed it."""

    def __init__(self, wire: Wire, space: str, routes: Sequence[Route]) -> None:
        self.wire, self.space = wire, space
        self.routes = [route for route in routes if not route.subresource and samples.kept(route.verbs)]
        self._by_resource = {(route.resource, route.version): self._sample(route) for route in self.routes}

    def of(self, route: Route) -> Object:
        """What to send there: for a subresource like `status` the object it belongs to."""
        name = self.name(route)
        return samples.answered(route, name) or self._by_resource.get((route.resource, route.version)) or {
            "apiVersion": route.api_version, "kind": route.kind, "metadata": {"name": name}, "spec": {}
        }  # fmt: skip

    def name(self, route: Route) -> str:
        found = self._by_resource.get((route.resource, route.version))
        return str(found["metadata"]["name"]) if found else VICTIM

    def live(self, route: Route) -> Object:
        """The victim as it is stored now, or as it was when it is not."""
        if samples.answered(route, VICTIM):
            return self.of(route)
        found = self.wire.ask(
            "GET", route.path(self.space, self.name(route)).removesuffix(f"/{route.subresource}")
        )
        return found.object() if found.code == 200 else self.of(route)

    def restore(self) -> None:
        """Create what is missing; what the fuzz left in a leaving state stays as it is."""
        for bounds in ("resourcequotas", "limitranges"):
            # Those the fuzz has made are enforced, and would refuse the victims.
            self.wire.ask("DELETE", f"/api/v1/namespaces/{self.space}/{bounds}")
        for route in self.routes:
            made = self.wire.ask("POST", route.path(self.space), self.of(route))
            assert made.code in (201, 409), f"{route.resource}: {made.text}"

    def _sample(self, route: Route) -> Object:
        return samples.in_namespace(samples.sample(route, VICTIM), self.space)


def requests(random: Random, routes: Sequence[Route], victims: Victims, garden: Garden) -> Iterator[Sent]:
    """Without end: every verb of every route in turn, each time otherwise broken."""
    calls = [(route, METHODS[verb]) for route in routes for verb in route.verbs]
    while True:
        for route, method in random.sample(calls, k=len(calls)):
            other = random.random() < 0.05
            yield _request(random, route, random.choice(ALL_METHODS) if other else method, victims, garden)
        target = random.choice(DOCUMENTS) + mutations.odd_query(random)
        yield Sent(random.choice(ALL_METHODS), target, accept=random.choice(mutations.ACCEPTS))


def _request(random: Random, route: Route, method: str, victims: Victims, garden: Garden) -> Sent:
    at_collection = not route.subresource and method in ("GET", "POST", "DELETE") and random.random() < 0.7
    at_collection = at_collection or (method == "POST" and not route.subresource)
    target = route.path(victims.space, "" if at_collection else victims.name(route))
    if method != "DELETE" and random.random() < 0.1:
        target = _odd_target(random, target, route, victims)
    query = mutations.odd_query(random) if random.random() < 0.5 else ""
    accept = random.choice(mutations.ACCEPTS) if random.random() < 0.2 else "application/json"
    if method == "DELETE":
        if at_collection:
            # What the server itself lives on (roles, definitions) is not for the fuzz to take away.
            query = "?labelSelector=made-by%3Dtest" + query.replace("?", "&").replace("labelSelector", "nope")
        if random.random() < 0.7:
            query += ("&" if query else "?") + "dryRun=All"  # victims that are gone are no victims
        return Sent(method, target + query, random.choice((b"", b"", _options(random))), accept=accept)
    if method == "PATCH":
        form = random.choice(mutations.PATCH_TYPES)
        manager = ("&" if query else "?") + "fieldManager=fuzz" if "apply" in form else ""
        body = mutations.written(random, _patch(random, route, form, victims, garden), form)
        return Sent(method, target + query + manager, body, form, accept)
    type = random.choice(mutations.BODY_TYPES) if random.random() < 0.2 else "application/json"
    obj = _body(random, route, method == "PUT", victims, garden)
    body = b"" if method in ("GET", "HEAD") else mutations.written(random, obj, type)
    return Sent(method, target + query, body, type, accept)


def _body(random: Random, route: Route, replaces: bool, victims: Victims, garden: Garden) -> Object:
    """A sound object spoiled, or one grown from its schema; to replace another, with the name of that one."""
    name = victims.name(route) if replaces or random.random() < 0.1 else f"grown-{random.randrange(10**6)}"
    if random.random() < 0.5:
        return garden.grow(route, name)
    sound = victims.live(route) if replaces else victims.of(route)
    return mutations.odd_object(
        random, sound if replaces else sound | {"metadata": sound["metadata"] | {"name": name}}
    )


def _patch(random: Random, route: Route, form: str, victims: Victims, garden: Garden) -> JSON:
    if form != "application/json-patch+json" and random.random() < 0.5:
        place = {
            "apiVersion": route.api_version,
            "kind": route.kind,
            "metadata": {"name": victims.name(route)},
        }
        field = route.subresource if route.subresource == "status" else random.choice(garden.fields(route))
        return place | {field: garden.field(route, field)}
    return mutations.odd_patch(random, victims.live(route), form)


def _options(random: Random) -> bytes:
    sound: Object = {
        "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
        "preconditions": {"uid": "x", "resourceVersion": "1"}, "orphanDependents": False, "dryRun": ["All"],
    }  # fmt: skip
    return mutations.written(random, mutations.odd_object(random, sound), "application/json")


def _odd_target(random: Random, path: str, route: Route, victims: Victims) -> str:
    odd = random.choice(("%2F", "%00", "..", "%2e%2e", "//", "%ff", "%", "%zz", "a b".replace(" ", "%20"),
    "A", "/status", "/scale", "/nope", "/log",
                         "/exec", "x" * 300, ":", ";", "%C3%9F"))  # fmt: skip
    return random.choice(
        (path + odd, path.replace(victims.space, odd, 1), path.replace(route.plural, odd, 1))
    )


@pytest.mark.timeout(300)
def test_no_request_breaks_the_server_or_what_it_stores(
    wire: Wire, space: str, all_routes: Sequence[Route], server: Server
) -> None:
    random = Random(SEED)
    victims, garden = Victims(wire, space, all_routes), Garden(wire, random)
    codes: Counter[int] = Counter()
    for number, sent in zip(range(REQUESTS), requests(random, all_routes, victims, garden), strict=False):
        if number % RESTORED_EVERY == 0:
            victims.restore()
        reply = wire.ask(sent.method, sent.target, sent.body, sent.type, {"Accept": sent.accept}, whole=False)
        codes[reply.code] += 1
        wrong = complaint(sent, reply)
        assert not wrong, f"seed {SEED}, request {number}: {wrong} ({reply.code} {reply.text[:500]})\n{sent}"
    print(f"seed {SEED}: {dict(codes)}")
    assert "Traceback" not in server.log, server.log[-4000:]
    # Were everything refused at the door, nothing behind it would have been tried.
    assert codes[200] + codes[201] > REQUESTS / 10
    assert codes[422] > REQUESTS / 10
    hurt = [complaint for route in victims.routes for complaint in _hurt(wire, route)]
    assert not hurt, "\n".join(hurt)


def _leaving(wire: Wire) -> set[str]:
    spaces = wire.ask("GET", "/api/v1/namespaces").object()["items"]
    return {one["metadata"]["name"] for one in spaces if "deletionTimestamp" in one["metadata"]}


def _hurt(wire: Wire, route: Route) -> Iterator[str]:
    """Stored objects of a kind that cannot be read and written back unchanged."""
    path = route.path("").replace("/namespaces//", "/")
    leaving = _leaving(wire)  # of earlier tests; what is in them goes at any moment
    for item in wire.ask("GET", path).object()["items"]:
        meta = item["metadata"]
        if {meta["name"], meta.get("namespace", "")} & leaving:
            continue
        one = route.path(meta.get("namespace", ""), meta["name"])
        read = wire.ask("GET", one)
        if read.code != 200:
            yield f"{one} is listed but answers {read.code}"
            continue
        back = wire.ask("PUT", one, read.body)
        if (back.code, back.body) != (200, read.body):
            yield f"{one} changes when written back: {back.code} {back.text[:600]} not {read.text[:600]}"
