"""kill -9 under concurrent writes, again and again: what was acknowledged is there, and everybody can go on.

Also what a disk does to a running server that is full, and then has room again.
"""

from __future__ import annotations

import asyncio
import resource
import time
from random import Random

import pytest

from tests.builders import a_config_map, a_namespace
from tests.server.ledger import CONFIG_MAPS, LABEL, Follower, Ledger, a_numbered, number_of
from tests.server.wire import Wire
from tests.servers import Cluster, Server
from trainshed.client import answers, requests
from trainshed.client.requests import Resource, Where
from trainshed.client.transport import HttpTransport
from trainshed.kube.objects import Object

SEED = 20262
ROUNDS = 8
SECONDS = 60.0
SPACE = "crash"
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


@pytest.mark.timeout(240)
async def test_everything_acknowledged_survives_kill_9(mortal: Server) -> None:
    random = Random(SEED)
    print(f"seed {SEED}")
    cluster = mortal.start()
    ledger, follower = Ledger(SPACE), Follower(SPACE, 0)
    async with HttpTransport(cluster.config()) as transport:
        answers.read_object(await transport.send(requests.create(NAMESPACES, a_namespace(SPACE))))
        follower.revision = (await _listed(transport))[0]
    for turn in range(ROUNDS):
        page = await _written_until_killed(mortal, cluster, ledger, follower, random)
        cluster = mortal.start()
        async with HttpTransport(cluster.config()) as transport:
            await _compared(transport, ledger, follower, turn)
            await _continued(transport, page)
    print(f"{len(ledger.promised)} writes were acknowledged, {len(follower.revisions)} events seen")


async def _written_until_killed(
    server: Server, cluster: Cluster, ledger: Ledger, follower: Follower, random: Random
) -> Object:
    """Write, watch and list until a random number of writes was acknowledged; the page listed on the way."""
    left = random.randrange(5, 400)

    def told() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            server.kill()

    async with (
        HttpTransport(cluster.config()) as transport,
        asyncio.timeout(SECONDS),
        asyncio.TaskGroup() as group,
    ):
        group.create_task(follower.follow(transport))
        page = group.create_task(_page(transport, Where(labels=LABEL, limit=3)))
        group.create_task(ledger.keep(transport, random, told))
    return page.result()


async def _compared(transport: HttpTransport, ledger: Ledger, follower: Follower, turn: int) -> None:
    revision, items = await _listed(transport)
    newest = max((entry.revision for entry in ledger.entries.values()), default=0)
    assert revision >= max(newest, follower.revision)
    ledger.compare({name: obj for name, obj in items.items() if not name.startswith("marker")})
    marker = f"marker-{turn}"
    made = answers.read_object(
        await transport.send(requests.create(CONFIG_MAPS, a_numbered(marker, turn, 1), SPACE))
    )
    assert int(made["metadata"]["resourceVersion"]) > revision
    async with asyncio.timeout(SECONDS):
        await follower.follow(transport, until=lambda: marker in follower.state)
    missed = ledger.promised - set(follower.revisions)
    assert not missed, f"the watcher never saw {sorted(missed)[:5]}"
    assert follower.state == (await _listed(transport))[1]


async def _continued(transport: HttpTransport, page: Object) -> None:
    """A list begun before the crash goes on where it stood, or says that it has to begin again."""
    token = page["metadata"].get("continue")
    if not token:
        return
    answer = await transport.send(requests.list(CONFIG_MAPS, SPACE, Where(labels=LABEL, token=token)))
    assert answer.code in (200, 410)
    if answer.code == 200:
        rest = answers.read_object(answer)
        assert rest["metadata"]["resourceVersion"] == page["metadata"]["resourceVersion"]
        names = [item["metadata"]["name"] for item in [*page["items"], *rest["items"]]]
        assert names == sorted(set(names))
        as_of = int(page["metadata"]["resourceVersion"])
        assert all(int(item["metadata"]["resourceVersion"]) <= as_of for item in rest["items"])


async def _listed(transport: HttpTransport) -> tuple[int, dict[str, Object]]:
    """The revision of the list and its items, each with its type as a watch shows it."""
    found = await _page(transport, Where(labels=LABEL))
    typed = {"apiVersion": "v1", "kind": "ConfigMap"}
    items = {item["metadata"]["name"]: typed | item for item in found["items"]}
    for item in items.values():
        number_of(item)
    return int(found["metadata"]["resourceVersion"]), items


async def _page(transport: HttpTransport, where: Where) -> Object:
    return answers.read_object(await transport.send(requests.list(CONFIG_MAPS, SPACE, where)))


def test_kill_9_while_it_starts_does_no_harm(mortal: Server) -> None:
    """The first start makes keys, certificates, roles and kinds: any of it may be half done."""
    random = Random(SEED)
    for _ in range(4):
        mortal.launch()
        # The moment itself is what is tried here: there is no event to wait for.
        time.sleep(random.uniform(0.1, 1.2))
        mortal.kill()
    with Wire(mortal.start().config()) as wire:
        assert wire.ask("GET", "/readyz").code == 200
        kinds = wire.ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").object()["items"]
        assert len(kinds) >= 14
        assert wire.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin").code == 200
        assert wire.ask("POST", "/api/v1/namespaces/default/configmaps", a_config_map("alive")).code == 201


def test_a_full_disk_stops_writes_but_not_reads_until_there_is_room(mortal: Server) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    with Wire(mortal.start().config()) as wire:
        before = wire.ask("POST", maps, a_config_map("before", {"a": "1"}))
        _let_files_grow_to(mortal, _largest_file(mortal) + 30_000)
        replies = {name: _post(wire, maps, name) for name in (f"full-{number}" for number in range(40))}
        kept = {name for name, code in replies.items() if code == 201}
        assert len(kept) < len(replies), "the disk never was full"
        told = mortal.status()
        assert told is not None
        assert (told["running"], told["ready"]) == (True, False)
        assert told["trouble"].startswith("store failed: ")
        # Reads and watches go on, and show nothing of what was refused.
        assert wire.ask("GET", f"{maps}/before").body == before.body
        assert _names(wire, maps) == kept | {"before"}
        for verb, body in (("PUT", before.object() | {"data": {"a": "x" * 9_000}}), ("DELETE", b"")):
            assert wire.ask(verb, f"{maps}/before", body).code in (200, 503)
        _let_files_grow_to(mortal, resource.RLIM_INFINITY)
        assert _post(wire, maps, "after") == 201
        told = mortal.status()
        assert told is not None
        assert told["ready"] is True
        present = _names(wire, maps)
    mortal.kill()
    with Wire(mortal.start().config()) as wire:
        assert _names(wire, maps) == present


def _post(wire: Wire, maps: str, name: str) -> int:
    """The code a new object of some size is answered with; a refusal must be one clear line."""
    reply = wire.ask("POST", maps, a_config_map(name, {"a": "x" * 9_000}))
    if reply.code != 201:
        status = reply.object()
        assert (status["code"], status["reason"]) == (503, "ServiceUnavailable"), reply.text
        assert "\n" not in status["message"]
        assert "trainshed.db" in status["message"] or "store" in status["message"], reply.text
    return reply.code


def _names(wire: Wire, maps: str) -> set[str]:
    found = {item["metadata"]["name"] for item in wire.ask("GET", maps).object()["items"]}
    return found - {"kube-root-ca.crt"}


def _largest_file(server: Server) -> int:
    return max(path.stat().st_size for path in (server.data / "store").iterdir())


def _let_files_grow_to(server: Server, size: int) -> None:
    """What the kernel lets the running server write; beyond it fails as on a full disk."""
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, hard))
