"""What Prometheus is told about reconciles: every pass once, by how it ended."""

from __future__ import annotations

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from tests import waits
from tests.builders import a_config_map
from trainshed.client.client import Client
from trainshed.compose import reconcilemetrics
from trainshed.loop import running
from trainshed.loop.controller import Controller, Watch
from trainshed.loop.keys import Key
from trainshed.loop.outcome import Done, Outcome, Permanent, Temporary
from trainshed.loop.passes import Passes
from trainshed.loop.world import World


def samples(text: bytes, name: str) -> dict[str, float]:
    """The samples of a metric by their second label (or their only one)."""
    return {
        list(sample.labels.values())[-1]: sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if sample.name == name
    }


async def asked(port: int, path: str) -> tuple[bytes, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = (await asyncio.wait_for(reader.read(), waits.SECONDS)).partition(b"\r\n\r\n")
    writer.close()
    return head, body


async def test_every_pass_is_counted_by_how_it_ended(client: Client, name: str) -> None:
    seen: dict[str, int] = {}
    all_ended = asyncio.Event()

    async def reconcile(key: Key, world: World) -> Outcome:
        if not key.name.startswith(name):
            return Done()
        seen[key.name] = seen.get(key.name, 0) + 1
        if seen == {f"{name}-fine": 1, f"{name}-stuck": 1, f"{name}-busy": 2}:
            all_ended.set()
        if key.name.endswith("stuck"):
            raise Permanent("never")
        if key.name.endswith("busy") and seen[key.name] == 1:
            raise Temporary("not yet")
        return Done()

    passes = Passes()
    controller = Controller("counted", (Watch("configmaps"),), reconcile)
    ready = asyncio.Event()
    work = asyncio.create_task(
        running.run(client, [controller], identity="test", ready=ready.set, passes=passes)
    )
    try:
        await asyncio.wait_for(ready.wait(), waits.SECONDS)
        for word in ("fine", "stuck", "busy"):
            await client.create(a_config_map(f"{name}-{word}"))
        await asyncio.wait_for(all_ended.wait(), waits.SECONDS)
        async with await reconcilemetrics.at_port(passes, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            head, body = await asked(port, "/metrics")
            other, _ = await asked(port, "/secrets")
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert other.startswith(b"HTTP/1.1 404 ")
    results = samples(body, "trainshed_reconciles_total")
    assert (results["gave_up"], results["retried"], results["failed"]) == (1, 1, 0)
    assert results["done"] >= 2
    assert samples(body, "trainshed_reconcile_seconds_count")["counted"] == sum(results.values())
    assert samples(body, "trainshed_reconcile_queue").keys() == {"counted"}
