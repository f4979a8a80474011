"""Launchers of MPIJobs reach their workers by the kubectl that is brought to them, and nobody else."""

from __future__ import annotations

import shutil

from tests import waits
from tests.agent import mpijobs, pods
from tests.agent.pods import end, is_over, is_running, phase
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions

KUBEXEC = "/etc/mpi/kubexec.sh"
KUBECTL = "/opt/kube/kubectl"


async def log_of(client: Client, pod: str) -> list[str]:
    options = LogOptions(container="mpi")
    text = b"".join([piece async for piece in client.logs(pod, options=options)]).decode()
    return [line for line in text.splitlines() if not line.startswith("+ ")]


async def launched(client: Client, script: str, *, is_late: bool = False, workers: int = 1) -> list[str]:
    """What a launcher says whose script runs beside so many workers."""
    job = mpijobs.a_job(client.namespace, script, workers)
    await mpijobs.ground(client, job)
    launcher = mpijobs.a_pod(job, "Launcher")
    made = [mpijobs.a_pod(job, "Worker", index) for index in range(workers)]
    for pod in [launcher, *made] if is_late else [*made, launcher]:
        await client.create(pod)
        if pod is launcher and is_late:
            await waits.until(client, "pods", "j-launcher", is_running)
            await waits.eventually(lambda: complains(client))
    over = await waits.until(client, "pods", "j-launcher", is_over)
    said = await log_of(client, "j-launcher")
    assert phase(over) == "Succeeded", f"{end(over, 'mpi')}\n{said}"
    return said


async def complains(client: Client) -> None:
    assert await log_of(client, "j-launcher")


async def test_a_launcher_runs_commands_in_its_workers(client: Client) -> None:
    script = (
        f"{KUBEXEC} j-worker-0 'echo on' '$(hostname)'; {KUBEXEC} j-worker-1 hostname; cat /etc/mpi/hostfile"
    )
    assert await launched(client, script, workers=2) == [
        "on j-worker-0", "j-worker-1", "j-worker-0 slots=1", "j-worker-1 slots=1",
    ]  # fmt: skip


async def test_how_a_command_ends_and_what_it_says_arrives(client: Client) -> None:
    script = (
        f"{KUBEXEC} j-worker-0 'echo wrong >&2; exit 7' 2>/tmp/err; echo $?; grep -v ^+ /tmp/err;"
        f"printf 'typed\\n' | {KUBECTL} exec -i j-worker-0 --container mpi -- cat;"
        f"{KUBECTL} exec j-worker-0 -- seq 100000 | wc -l"
    )
    assert await launched(client, script) == [
        "7", "wrong", "command terminated with exit code 7", "typed", "100000",
    ]  # fmt: skip


async def test_a_launcher_that_is_early_waits_for_its_workers(client: Client) -> None:
    assert await launched(client, f"{KUBECTL} exec j-worker-0 -- hostname 2>&1", is_late=True) == [
        'kubectl: will try again: Error from server (NotFound): pods "j-worker-0" not found',
        "j-worker-0",
    ]


async def test_a_launcher_may_run_commands_in_no_other_pod(client: Client) -> None:
    await client.create(pods.a_pod("other", "sleep 60"))
    await waits.until(client, "pods", "other", is_running)
    first, last = await launched(client, f"{KUBECTL} exec other -- hostname 2>&1 || true")
    account = f"system:serviceaccount:{client.namespace}:j-launcher"
    assert first == f"kubectl: will try again: {last}"
    assert last == (
        f'Error from server (Forbidden): pods "other" is forbidden: User "{account}" cannot create resource '
        f'"pods/exec" in API group "" in the namespace "{client.namespace}"'
    )


async def test_the_real_kubectl_gets_as_far_in_its_place(client: Client) -> None:
    real = shutil.which("kubectl")
    script = (
        f"{real} exec j-worker-0 -- hostname; {real} exec j-launcher -- hostname >/dev/null 2>&1 || echo no"
    )
    await_worker = f"{KUBECTL} exec j-worker-0 -- true; "
    assert await launched(client, await_worker + script) == ["j-worker-0", "no"]
