"""An operator killed at any write: no pod is counted twice, lost, or made once too often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.builders import a_job, a_pod_spec
from tests.loops import mortal
from tests.loops.job_pods import end, index_of, job_said, pods_when
from tests.loops.mortal import Moment, Mortal
from tests.loops.operators import Operator, operating
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.controllers import job as controllers
from trainshed.controllers.job.backoff import Pace
from trainshed.kube.objects import Object

AT_ONCE = Pace(first=0.0, longest=0.0)
MOST_WRITES = 30


@asynccontextmanager
async def a_clumsy_kubelet(client: Client) -> AsyncIterator[None]:
    """Ends each pod as soon as it sees it: the first of each Job badly, all others well."""

    async def work() -> None:
        stumbled: set[str] = set()
        async with client.watch("pods") as changes:
            async for change in changes:
                if change.type == "ADDED" and not change.object["status"].get("containerStatuses"):
                    job = change.object["metadata"]["labels"]["job-name"]
                    bad = job not in stumbled and index_of(change.object) in (0, -1)
                    stumbled |= {job} if bad else set()
                    await end(client, change.object, code=1 if bad else 0)

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def live_and_die(cluster: Cluster, client: Client, name: str, at: int, moment: Moment) -> bool:
    """Run the Job to its end by an operator that dies at a write and a successor; whether the first died."""
    transport = Mortal(cluster.config(), at, moment)
    async with mortal.client(transport) as short:
        operator = Operator(short, [controllers.controller(AT_ONCE)])
        await operator.start()
        finished = asyncio.create_task(job_said(client, name, "Complete"))
        died = asyncio.create_task(transport.dead.wait())
        await asyncio.wait({finished, died}, return_when=asyncio.FIRST_COMPLETED, timeout=30)
        died.cancel()
        await operator.stop()
    async with operating(cluster, controllers.controller(AT_ONCE)):
        await finished
    return transport.dead.is_set()


@pytest.mark.parametrize("mode", ["Indexed", "NonIndexed"])
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_job_comes_to_the_same_end_wherever_its_operator_is_killed(
    cluster: Cluster, client: Client, name: str, moment: Moment, mode: str
) -> None:
    template = {"spec": a_pod_spec(restartPolicy="Never")}
    spec: Object = {"completions": 2, "parallelism": 2, "completionMode": mode, "template": template}
    async with a_clumsy_kubelet(client):
        for at in range(1, MOST_WRITES):
            one = f"{name}-{at}"
            await client.create(a_job(one, dict(spec)))
            died = await live_and_die(cluster, client, one, at, moment)
            status = (await client.get("jobs", one))["status"]
            made = await pods_when(client, one, len)
            assert (status["succeeded"], status["failed"], len(made)) == (2, 1, 3), f"killed at write {at}"
            if not died:
                return
    pytest.fail(f"a Job of three pods took more than {MOST_WRITES} writes")
