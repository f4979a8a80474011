"""Pods as plain processes: what works without sandboxes works the same for their owners."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests import waits
from tests.agent import awaiting, mpijobs, nodes
from tests.agent.nodes import Place
from tests.agent.pods import a_container, a_pod, end, is_over, is_running, kill_supervisor, phase, status
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.kinds.core import podstates
from trainshed.kube.objects import Object
from trainshed.runner.settings import Settings


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with nodes.running(tmp_path_factory.mktemp("node"), Settings(runner="process")) as found:
        yield found


@pytest_asyncio.fixture
async def client(place: Place) -> AsyncIterator[Client]:
    async with place.cluster.client(manager="test") as found:
        yield found
        for pod in (await found.list("pods")).items:
            await found.delete("pods", pod["metadata"]["name"])
            await waits.until_gone(found, "pods", pod["metadata"]["name"])


async def log_of(client: Client, pod: str) -> str:
    return b"".join([piece async for piece in client.logs(pod, options=LogOptions())]).decode()


async def test_a_pod_runs_and_its_log_can_be_read(client: Client) -> None:
    await client.create(a_pod("p", "echo hello; exit 3"))
    pod = await waits.until(client, "pods", "p", is_over)
    assert (phase(pod), end(pod)["exitCode"]) == ("Failed", 3)
    assert await log_of(client, "p") == "hello\n"


async def test_a_failed_container_is_restarted(client: Client) -> None:
    await client.create(a_pod("p", "exit 1", policy="OnFailure"))
    await waits.until(client, "pods", "p", lambda pod: status(pod)["restartCount"] >= 1)


async def test_a_pod_goes_on_under_a_new_agent(place: Place, client: Client) -> None:
    await client.create(a_pod("p", "trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done"))
    await waits.until(client, "pods", "p", is_running)
    place.agent.kill()
    place.agent.start()
    assert phase(await client.get("pods", "p")) == "Running"


async def test_that_a_supervisor_was_killed_is_not_taken_for_the_programs_words(
    place: Place, client: Client
) -> None:
    await client.create(a_pod("p", "echo step 7; exec sleep 1000"))
    pod = await waits.until(client, "pods", "p", is_running)
    kill_supervisor(place.server.data / "agent" / "process", pod)
    ended = podstates.bad_end(await waits.until(client, "pods", "p", is_over))
    assert ended is not None
    assert ended.how.endswith(": the process that looked after the container was killed")
    assert "last line" not in ended.how


async def test_peers_meet_by_the_names_in_their_commands(client: Client) -> None:
    serve = "import socket, sys; s = socket.create_server((sys.argv[1], 29500)); s.accept(); print('met')"
    call = (
        "import socket, sys, time\n"
        "for _ in range(300):\n"
        "    try:\n"
        "        socket.create_connection((sys.argv[1], 29500)).close()\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.1)\n"
    )

    def rank(number: int, program: str) -> Object:
        command = ["python", "-c", program, "job-0.job"]
        container: Object = {"name": "main", "image": "x", "command": command}
        return a_pod(f"rank{number}", container, hostname=f"job-{number}", subdomain="job")

    await client.create(rank(0, serve))
    await client.create(rank(1, call))
    for name in ("rank0", "rank1"):
        assert phase(await waits.until(client, "pods", name, is_over)) == "Succeeded"
    assert await log_of(client, "rank0") == "met\n"


async def test_a_worker_waits_until_its_master_is_ready(place: Place, client: Client) -> None:
    def restart() -> None:
        place.agent.kill()
        place.agent.start()

    await awaiting.check(client, meanwhile=restart)


async def test_what_no_pod_is_called_is_asked_of_the_machine(client: Client) -> None:
    await client.create(
        a_pod("p", "getent hosts localhost && getent passwd 0 && ! getent hosts nobody.invalid")
    )
    over = await waits.until(client, "pods", "p", is_over)
    assert phase(over) == "Succeeded", await log_of(client, "p")


async def test_a_launcher_of_an_mpijob_runs_commands_in_its_workers(client: Client) -> None:
    # Written in one piece the name would become an address; mpirun reads it from a file.
    script = "$OMPI_MCA_plm_rsh_agent j-worker''-0 'echo on' '$HOSTNAME'; cat $PRTE_MCA_prte_default_hostfile"
    job = mpijobs.a_job("default", script, 2, slotsPerWorker=3)
    await mpijobs.ground(client, job)
    for pod in (mpijobs.a_pod(job, "Worker"), mpijobs.a_pod(job, "Launcher")):
        await client.create(pod)
    over = await waits.until(client, "pods", "j-launcher", is_over)
    said = await log_of(client, "j-launcher")
    assert phase(over) == "Succeeded", said
    assert [line for line in said.splitlines() if not line.startswith("+ ")] == [
        "on j-worker-0", "localhost slots=6",
    ]  # fmt: skip


async def test_volumes_are_found_by_the_paths_in_the_command(client: Client) -> None:
    mounts = [{"name": "v", "mountPath": "/scratch"}]
    container = a_container("echo x > /scratch/f; cat /scratch/f", volumeMounts=mounts)
    await client.create(a_pod("p", container, volumes=[{"name": "v", "emptyDir": {}}]))
    await waits.until(client, "pods", "p", is_over)
    assert await log_of(client, "p") == "x\n"


async def test_probes_find_volumes_too(client: Client) -> None:
    mounts = [{"name": "v", "mountPath": "/scratch"}]
    probe = {"exec": {"command": ["cat", "/scratch/f"]}, "periodSeconds": 1}
    container = a_container("touch /scratch/f; exec sleep 1000", volumeMounts=mounts, readinessProbe=probe)
    await client.create(a_pod("p", container, volumes=[{"name": "v", "emptyDir": {}}]))
    await waits.until(client, "pods", "p", lambda pod: is_running(pod) and status(pod)["ready"])


async def test_a_node_says_what_its_runner_cannot_do(client: Client) -> None:
    node = await client.get("nodes", nodes.NODE)
    assert node["metadata"]["annotations"]["trainshed.dev/runner"] == "process"
    assert "nothing is isolated" in node["metadata"]["annotations"]["trainshed.dev/runner-cannot"]
