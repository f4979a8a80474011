"""Kill the agent, kill the server, stop everything and start again: pods go on, and nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from tests import waits
from tests.agent import nodes
from tests.agent.nodes import Place
from tests.agent.pods import (
    a_container,
    a_pod,
    end,
    is_over,
    is_running,
    kill_supervisor,
    phase,
    status,
    waiting,
)
from tests.builders import a_config_map
from trainshed.client.client import Client
from trainshed.client.requests import Delete, LogOptions
from trainshed.kinds.core import podstates
from trainshed.kube.objects import Object, dig
from trainshed.runner import pod_state


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with nodes.running(tmp_path) as found:
        yield found


@pytest_asyncio.fixture
async def client(place: Place) -> AsyncIterator[Client]:
    async with place.cluster.client(manager="test") as found:
        yield found


def on_cue(folder: Path, script: str = "exit 3") -> Object:
    """A container that says when it is up and ends when it is given the cue, by files of the host."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    wait = f": {folder}; echo up >> /cue/up; while [ ! -e /cue/go ]; do sleep 0.05; done; echo gone"
    return a_container(f"{wait}; {script}", volumeMounts=[{"name": "cue", "mountPath": "/cue"}])


def cue(folder: Path) -> Object:
    return {"name": "cue", "hostPath": {"path": str(folder)}}


async def started(client: Client, folder: Path, policy: str = "Never", script: str = "exit 3") -> Object:
    await client.create(a_pod("p", on_cue(folder, script), policy=policy, volumes=[cue(folder)]))
    found = await waits.until(client, "pods", "p", is_running)
    nodes.wait_for_line(folder / "up", "up")
    return found


async def no_longer_there(words: str) -> None:
    """Until no process of this machine has the words in its command."""

    async def gone() -> None:
        commands = [" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])]
        assert not any(words in command for command in commands)

    await waits.eventually(gone)


async def test_a_pod_survives_the_agent_and_its_end_is_told_later(
    place: Place, client: Client, tmp_path: Path
) -> None:
    before = await started(client, tmp_path / "cue")
    place.agent.kill()
    (tmp_path / "cue" / "go").touch()
    nodes.wait_for_log(place, "gone")
    place.agent.start()
    pod = await waits.until(client, "pods", "p", is_over)
    assert end(pod)["exitCode"] == 3
    assert status(pod)["restartCount"] == 0
    assert pod["status"]["podIP"] == before["status"]["podIP"]
    assert (tmp_path / "cue" / "up").read_text() == "up\n", "it ran once"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'BOOM: my last words'; exit 9", "gone\nBOOM: my last words\n"),
        ("echo 'no data' > /dev/termination-log; exit 9", "no data\n"),
    ],
)
async def test_the_last_words_of_who_ended_without_an_agent_are_told_by_the_next(
    place: Place, client: Client, tmp_path: Path, script: str, words: str
) -> None:
    await started(client, tmp_path / "cue", script=script)
    place.agent.kill()
    (tmp_path / "cue" / "go").touch()
    await no_longer_there(str(tmp_path / "cue"))
    place.agent.start()
    ended = end(await waits.until(client, "pods", "p", is_over))
    assert (ended["exitCode"], ended.get("message")) == (9, words)


@pytest.mark.parametrize("part", ["initContainers", "containers"])
async def test_the_last_words_of_a_run_before_the_next_are_kept_without_an_agent(
    place: Place, client: Client, tmp_path: Path, part: str
) -> None:
    fails_once = "[ -e /cue/again ] || { touch /cue/again; echo BOOM; exit 9; }"
    parts = {"containers": [a_container("true", "other")]} | {part: [on_cue(tmp_path / "cue", fails_once)]}
    await client.create(a_pod("p", policy="OnFailure", volumes=[cue(tmp_path / "cue")], **parts))
    await waits.until(client, "pods", "p", lambda pod: "running" in status(pod)["state"])
    nodes.wait_for_line(tmp_path / "cue" / "up", "up")
    place.agent.kill()
    (tmp_path / "cue" / "go").touch()
    await no_longer_there(str(tmp_path / "cue"))
    place.agent.start()
    pod = await waits.until(client, "pods", "p", is_over)
    assert end(pod)["exitCode"] == 0
    assert dig(status(pod), "lastState", "terminated", "message") == "gone\nBOOM\n"


@pytest.mark.parametrize("is_agent_there", [True, False])
async def test_that_a_supervisor_was_killed_is_not_taken_for_the_programs_words(
    place: Place, client: Client, tmp_path: Path, is_agent_there: bool
) -> None:
    pod = await started(client, tmp_path / "cue")
    if not is_agent_there:
        place.agent.kill()
    kill_supervisor(place.server.data / "agent" / "sandbox", pod)
    if not is_agent_there:
        await no_longer_there(str(tmp_path / "cue"))
        place.agent.start()
    ended = podstates.bad_end(await waits.until(client, "pods", "p", is_over))
    why = "the process that looked after the container was killed"
    assert ended is not None
    assert ended.how == f"was killed by signal 9 (SIGKILL): {why}"


async def test_a_pod_goes_on_under_a_new_agent(place: Place, client: Client, tmp_path: Path) -> None:
    await started(client, tmp_path / "cue", script="exit 0")
    place.agent.kill()
    place.agent.start()
    pod = await client.get("pods", "p")
    assert phase(pod) == "Running"
    (tmp_path / "cue" / "go").touch()
    over = await waits.until(client, "pods", "p", is_over)
    assert phase(over) == "Succeeded"
    text = b"".join([piece async for piece in client.logs("p", options=LogOptions())])
    assert text == b"gone\n"


async def test_a_pod_deleted_while_no_agent_was_there_may_say_goodbye_to_the_next(
    place: Place, client: Client, tmp_path: Path
) -> None:
    container = on_cue(tmp_path / "cue")
    container["command"][2] = f"trap 'echo bye >> /cue/up; exit 0' TERM; {container['command'][2]}"
    await client.create(a_pod("p", container, volumes=[cue(tmp_path / "cue")]))
    await waits.until(client, "pods", "p", is_running)
    nodes.wait_for_line(tmp_path / "cue" / "up", "up")
    place.agent.kill()
    await client.delete("pods", "p")
    place.agent.start()
    await waits.until_gone(client, "pods", "p")
    assert (tmp_path / "cue" / "up").read_text() == "up\nbye\n"


async def test_a_pod_is_looked_after_even_if_its_volumes_are_gone(
    place: Place, client: Client, tmp_path: Path
) -> None:
    await client.create(a_config_map("settings", {"a": "1"}))
    volumes = [cue(tmp_path / "cue"), {"name": "settings", "configMap": {"name": "settings"}}]
    await client.create(a_pod("p", on_cue(tmp_path / "cue"), volumes=volumes))
    await waits.until(client, "pods", "p", is_running)
    place.agent.kill()
    await client.delete("configmaps", "settings")
    place.agent.start()
    (tmp_path / "cue" / "go").touch()
    pod = await waits.until(client, "pods", "p", is_over)
    assert end(pod)["exitCode"] == 3


async def test_a_pod_survives_the_server(place: Place, client: Client, tmp_path: Path) -> None:
    await started(client, tmp_path / "cue")
    place.server.kill()
    (tmp_path / "cue" / "go").touch()
    nodes.wait_for_log(place, "gone")
    place.server.start()
    pod = await waits.until(client, "pods", "p", is_over)
    assert end(pod)["exitCode"] == 3


async def test_an_end_the_server_never_heard_of_outlives_the_agent_too(
    place: Place, client: Client, tmp_path: Path
) -> None:
    await started(client, tmp_path / "cue", policy="OnFailure", script="exit 0")
    place.server.kill()
    (tmp_path / "cue" / "go").touch()
    await no_longer_there(str(tmp_path / "cue"))
    place.agent.stop()
    place.server.start()
    place.agent.start()
    pod = await waits.until(client, "pods", "p", is_over)
    assert phase(pod) == "Succeeded"
    assert (tmp_path / "cue" / "up").read_text() == "up\n", "it ran once"


async def test_a_stopped_node_starts_its_pods_again(place: Place, client: Client, tmp_path: Path) -> None:
    await started(client, tmp_path / "cue", policy="OnFailure", script="exit 0")
    place.agent.stop()
    assert phase(await client.get("pods", "p")) == "Running"
    place.agent.start()
    nodes.wait_for_line(tmp_path / "cue" / "up", "up\nup\n")
    (tmp_path / "cue" / "go").touch()
    pod = await waits.until(client, "pods", "p", is_over)
    assert phase(pod) == "Succeeded"
    assert status(pod)["restartCount"] == 1


async def test_a_pod_that_may_not_run_twice_has_failed_when_its_node_was_stopped(
    place: Place, client: Client, tmp_path: Path
) -> None:
    await started(client, tmp_path / "cue")
    began = time.monotonic()
    place.agent.stop()
    assert time.monotonic() - began < 20
    pod = await client.get("pods", "p")
    assert phase(pod) == "Failed"
    assert dig(pod, "status", "reason") == "NodeShutdown"


async def test_what_an_agent_left_of_pods_that_are_gone_or_over_is_removed_by_the_next(
    place: Place, client: Client, tmp_path: Path
) -> None:
    running = await started(client, tmp_path / "cue")
    await client.create(a_pod("over", "true"))
    over = await waits.until(client, "pods", "over", is_over)
    folder = place.server.data / "agent" / "pods"
    await waits.eventually(lambda: _is_alone(folder, running))
    place.agent.kill()
    for uid in ("long-gone", over["metadata"]["uid"]):  # as one that was killed while it removed them
        (folder / uid / "volumes" / "token").mkdir(parents=True)
    place.agent.start()
    await waits.eventually(lambda: _is_alone(folder, running))
    (tmp_path / "cue" / "go").touch()
    assert end(await waits.until(client, "pods", "p", is_over))["exitCode"] == 3


async def _is_alone(folder: Path, pod: Object) -> None:
    assert pod_state.folders_in(folder) == {pod["metadata"]["uid"]}


async def test_nothing_goes_on_without_the_data_folder(place: Place, client: Client, tmp_path: Path) -> None:
    await started(client, tmp_path / "cue")
    data = place.server.data
    shutil.rmtree(data)
    assert place.agent.process is not None
    place.agent.process.wait(nodes.START_SECONDS)
    await no_longer_there(str(tmp_path / "cue"))
    await no_longer_there(str(data))


async def test_a_pod_whose_records_are_lost_is_not_said_to_have_been_stopped(
    place: Place, client: Client, tmp_path: Path
) -> None:
    before = await started(client, tmp_path / "cue")
    place.agent.kill()
    (tmp_path / "cue" / "go").touch()
    await no_longer_there(str(tmp_path / "cue"))
    shutil.rmtree(next(place.server.data.glob(f"agent/sandbox/pods/{before['metadata']['uid']}")))
    place.agent.start()
    pod = await waits.until(client, "pods", "p", is_over)
    assert (phase(pod), dig(pod, "status", "reason")) == ("Failed", "ContainerStatusUnknown")
    assert "the machine was restarted, or they were removed" in dig(pod, "status", "message")


async def test_a_node_says_when_its_agent_has_left(place: Place, client: Client) -> None:
    place.agent.stop()
    node = await client.get("nodes", nodes.NODE)
    ready = [one for one in node["status"]["conditions"] if one["type"] == "Ready"]
    assert [one["status"] for one in ready] == ["False"]


def is_let_down(pod: Object) -> bool:
    return "the node agent failed and will try again" in waiting(pod).get("message", "")


async def test_a_pod_the_agent_fails_says_so_and_goes_on_later(place: Place, client: Client) -> None:
    hosts = place.server.data / "agent" / "hosts"
    with spoiled(hosts):
        await client.create(a_pod("p", "exit 0"))
        await waits.until(client, "pods", "p", is_let_down)
    assert phase(await waits.until(client, "pods", "p", is_over)) == "Succeeded"


async def test_a_pod_the_agent_fails_leaves_nothing_when_it_is_gone(place: Place, client: Client) -> None:
    agent = place.server.data / "agent"
    with spoiled(agent / "hosts"):
        pod = await client.create(a_pod("p", "exit 0"))
        await waits.until(client, "pods", "p", is_let_down)
        folder = agent / "pods" / str(dig(pod, "metadata", "uid"))
        assert folder.exists()
        await client.delete("pods", "p", options=Delete(grace_seconds=0))

        async def gone() -> None:
            assert not folder.exists()

        await waits.eventually(gone)


@contextmanager
def spoiled(folder: Path) -> Iterator[None]:
    """A file where a folder of the agent should be."""
    away = folder.with_name("away")
    folder.rename(away)
    folder.touch()
    try:
        yield
    finally:
        folder.unlink()
        away.rename(folder)


def a_claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


async def gone(folder: Path) -> None:
    async def look() -> None:
        assert not await asyncio.to_thread(folder.exists)

    await waits.eventually(look)


async def test_data_goes_with_its_claim_but_not_under_a_running_pod(
    place: Place, client: Client, tmp_path: Path
) -> None:
    for name in ("used", "idle"):
        await client.create(a_claim(name))
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("used", "idle")]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("used", "idle")]
    fill = a_pod("fill", a_container("touch /used/x /idle/x", volumeMounts=mounts), volumes=volumes)
    await client.create(fill)
    await waits.until(client, "pods", "fill", is_over)
    user = on_cue(tmp_path / "cue", "ls /used")
    user["volumeMounts"].append(mounts[0])
    await client.create(a_pod("p", user, volumes=[cue(tmp_path / "cue"), volumes[0]]))
    await waits.until(client, "pods", "p", is_running)
    folder = place.server.data / "agent" / "volumes" / "default"
    for name in ("used", "idle"):
        await client.delete("persistentvolumeclaims", name)
    await gone(folder / "idle")
    assert (folder / "used" / "x").exists()
    place.agent.kill()
    (tmp_path / "cue" / "go").touch()
    await no_longer_there(str(tmp_path / "cue"))
    place.agent.start()
    assert phase(await waits.until(client, "pods", "p", is_over)) == "Succeeded"
    await gone(folder / "used")
