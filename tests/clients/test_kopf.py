"""A kopf operator as a real process: it follows TrainJobs, writes status, posts events, uses finalizers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_namespace, a_train_job
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.kube.objects import Object

OPERATOR = Path(__file__).parent / "kopf_operator.py"
FINALIZER = "operator.example.com/finalizer"
STOP_SECONDS = 20


@pytest_asyncio.fixture
async def client(cluster: Cluster, name: str) -> AsyncIterator[Client]:
    """A namespace of its own, so that one test's operator does not touch another's objects."""
    async with cluster.client(name) as found:
        await found.create(a_namespace(name))
        yield found
        await found.delete("namespaces", name)
        await waits.until_gone(found, "namespaces", name)


class Operator:
    """`kopf run` on one namespace, as often as a test starts it."""

    def __init__(self, cluster: Cluster, namespace: str, folder: Path) -> None:
        arguments = ["--standalone", "--namespace", namespace, str(OPERATOR)]
        self._command = [sys.executable, "-m", "kopf", "run", "--log-format=full", *arguments]
        self._environment, self._log = cluster.environment(), folder / "operator.log"

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)
        try:
            yield
        finally:
            process.terminate()
            code = process.wait(STOP_SECONDS)
        assert code == 0, self.log
        # What it could not do, and what the server stored otherwise than it was asked to.
        assert not [line for line in self.log.splitlines() if "ERROR" in line or "inconsistenc" in line], (
            self.log
        )

    @property
    def log(self) -> str:
        return self._log.read_text()


@pytest.fixture
def operator(cluster: Cluster, name: str, tmp_path: Path) -> Operator:
    return Operator(cluster, name, tmp_path)


def noted(key: str, value: str, obj: Object) -> bool:
    found = obj["metadata"].get("annotations", {}).get(f"operator.example.com/{key}")
    return bool(found == value)


def accepted(obj: Object) -> bool:
    return [it["reason"] for it in obj.get("status", {}).get("conditions", [])] == ["Accepted"]


async def test_a_new_train_job_gets_status_finalizer_and_event(client: Client, operator: Operator) -> None:
    with operator.running():
        await client.create(a_train_job("job"))
        seen = await waits.until(client, "trainjobs", "job", accepted)
        assert seen["metadata"]["finalizers"] == [FINALIZER]
        assert seen["metadata"]["generation"] == 1

        async def posted() -> list[Object]:
            events = await client.list("events", where=Where(fields="involvedObject.kind=TrainJob"))
            assert "Accepted" in [it["reason"] for it in events.items]
            return list(events.items)

        assert {it["involvedObject"]["name"] for it in await waits.eventually(posted)} == {"job"}
        await client.delete("trainjobs", "job")
        await waits.until_gone(client, "trainjobs", "job")


async def test_an_update_is_told_with_both_values(client: Client, operator: Operator) -> None:
    with operator.running():
        await client.create(a_train_job("job", {"suspend": False}))
        await waits.until(client, "trainjobs", "job", accepted)
        await client.patch("trainjobs", "job", {"spec": {"suspend": True}})
        await waits.until(client, "trainjobs", "job", lambda it: noted("suspend", "False-True", it))
        await client.delete("trainjobs", "job")
        await waits.until_gone(client, "trainjobs", "job")


async def test_it_cleans_up_before_a_train_job_goes(client: Client, operator: Operator) -> None:
    with operator.running():
        await client.create(a_train_job("job"))
        await waits.until(client, "trainjobs", "job", accepted)
        last: Object = {}
        async with asyncio.timeout(waits.SECONDS), client.watch("trainjobs") as changes:
            async for change in changes:
                if change.type == "SYNCED":
                    await client.delete("trainjobs", "job")
                elif change.type == "DELETED":
                    last = change.object
                    break
    assert "torch-distributed" in last["metadata"]["annotations"]["operator.example.com/cleaned"]
    assert "finalizers" not in last["metadata"]


async def test_it_goes_on_after_a_restart(client: Client, operator: Operator) -> None:
    """What was deleted while it was away waits for it; what stayed is resumed."""
    with operator.running():
        for job in ("stays", "goes"):
            await client.create(a_train_job(job))
            await waits.until(client, "trainjobs", job, accepted)
    await client.delete("trainjobs", "goes")
    held = await client.get("trainjobs", "goes")
    assert (held["metadata"]["finalizers"], "deletionTimestamp" in held["metadata"]) == ([FINALIZER], True)
    with operator.running():
        await waits.until_gone(client, "trainjobs", "goes")
        await waits.until(client, "trainjobs", "stays", lambda it: noted("resumed", "yes", it))
        await client.delete("trainjobs", "stays")
        await waits.until_gone(client, "trainjobs", "stays")
