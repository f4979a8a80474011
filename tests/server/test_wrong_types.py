"""Wrong types at every depth of every kind: each sample with each of its parts replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.server import samples
from tests.server.answers import complaint
from tests.server.mutations import Sent
from tests.server.routes import METHODS, Route
from tests.server.wire import Wire
from trainshed.kube.objects import JSON, Object, copied, encode

WRONG: Sequence[JSON] = (None, 3, -1.5, "x", "", True, [], [None], {}, {"a": {"b": None}})


def test_of_what_is_stored(wire: Wire, space: str, all_routes: Sequence[Route]) -> None:
    for route in all_routes:
        if not route.subresource and samples.kept(route.verbs):
            sound = samples.in_namespace(samples.sample(route, "wrong"), space)
            _try_all(wire, "POST", f"{route.path(space)}?dryRun=All", sound)


def test_of_what_is_only_answered(wire: Wire, space: str, all_routes: Sequence[Route]) -> None:
    for parent in all_routes:
        if not parent.subresource and samples.kept(parent.verbs):
            wire.ask("POST", parent.path(space), samples.in_namespace(samples.sample(parent, "w"), space))
    for route in all_routes:
        if sound := samples.answered(route, "w"):
            for verb in {"create", "update"} & set(route.verbs):
                path = route.path(space, "w" if route.subresource else "")
                _try_all(wire, METHODS[verb], f"{path}?dryRun=All", sound)


def test_of_a_status(wire: Wire, space: str, all_routes: Sequence[Route]) -> None:
    for route in all_routes:
        if route.subresource != "status" or route.plural == "customresourcedefinitions":
            continue
        collection, name = route.path(space).removesuffix("/status"), "s"
        wire.ask("POST", collection, samples.in_namespace(samples.sample(route, name), space))
        fields = wire.ask("GET", f"{collection}/{name}").object().get("status") or {}
        known = {
            "conditions": [{"type": "A", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}]
        }
        body = {"apiVersion": route.api_version, "kind": route.kind, "status": fields | known}
        _try_all(
            wire, "PATCH", f"{collection}/{name}/status?dryRun=All", body, "application/merge-patch+json"
        )


def _try_all(wire: Wire, method: str, target: str, sound: Object, type: str = "application/json") -> None:
    for wrong in _spoiled(sound):
        sent = Sent(method, target, encode(wrong), type)
        reply = wire.ask(sent.method, sent.target, sent.body, sent.type)
        trouble = complaint(sent, reply)
        assert not trouble, f"{trouble}: {reply.code} {reply.text[:500]}\n{sent}"


def _spoiled(sound: Object) -> Iterator[Object]:
    """The object with one part replaced, for each of its parts by another third of the wrong values."""
    for number, path in enumerate(samples.pieces(sound)[1:]):
        for wrong in WRONG[number % 3 :: 3]:
            obj: JSON = copied(sound)
            holder: JSON = obj
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = wrong
            yield obj
