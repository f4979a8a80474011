"""Server, operator and agent: three processes that start together, die alone and come back."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests import waits
from tests.places import Place, one_line_error
from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.compose import capabilities, companion, processes
from trainshed.compose.orders import Order
from trainshed.kube.objects import JSON, Object, dig

NAMES = ("apiserver", "operator", "agent")
SECONDS = 60.0


def pids(place: Place) -> dict[str, int]:
    found: dict[str, int] = place.status()["pids"]
    return found


def until(claim: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not claim():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


def ours(root: Path) -> list[int]:
    """Every process that works for a data folder, however it was left."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(str(root) in word for word in process.info["cmdline"] or [])
        and any("trainshed" in word for word in process.info["cmdline"] or [])
    ]


def a_claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def controllers_work(place: Place, name: str) -> None:
    """A claim is made and bound: the operator watches and writes."""

    async def make() -> None:
        async with Client.connect(kubeconfig.load(place.root / "kubeconfig")) as client:
            await client.create(a_claim(name))
            await waits.until(client, "pvc", name, lambda claim: dig(claim, "status", "phase") == "Bound")

    asyncio.run(make())


def test_up_starts_all_three_and_down_ends_them(place: Place) -> None:
    place.run("up", "--port", "0")
    found = place.status()
    assert set(found["pids"]) == set(NAMES)
    assert all(processes.birth(pid) for pid in found["pids"].values())
    for part in ("operator", "agent"):
        assert found[part]["running"] is True
        assert found[part]["pid"] == found["pids"][part]
        assert Path(found[part]["log"]).is_file()
    printed = place.run("status").stdout
    assert f"process {found['pids']['agent']}" in printed
    controllers_work(place, "data")
    lines = place.run("down").stdout.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        "Stopped the operator",
        "Stopped the agent and its pods",
        "Stopped the server",
    ]
    assert ours(place.root) == []
    assert {path.name for path in place.root.glob("*.json")} <= {"up.json"}


def test_up_again_changes_nothing(place: Place) -> None:
    place.run("up", "--port", "0")
    before = place.status()
    assert place.run("up").stdout.startswith("Trainshed is already running.\n")
    assert place.status() == before


@pytest.mark.parametrize("part", ["operator", "agent"])
def test_a_killed_part_is_missing_until_the_next_up(place: Place, part: str) -> None:
    place.run("up", "--port", "0")
    before = pids(place)
    os.kill(before[part], signal.SIGKILL)
    until(lambda: processes.birth(before[part]) is None)
    found = place.status()
    assert (found["running"], found[part]["running"]) == (True, False)
    assert f"{part} " in place.run("status").stdout
    assert place.run("up").stdout.startswith("Trainshed is ready.\n")
    after = pids(place)
    assert after[part] != before[part]
    assert {name: after[name] for name in NAMES if name != part} == {
        name: before[name] for name in NAMES if name != part
    }
    controllers_work(place, f"after-{part}")


def test_the_others_outlive_a_killed_server_and_find_the_next_one(place: Place) -> None:
    place.run("up", "--port", "0")
    before, port = pids(place), place.status()["address"]["port"]
    os.kill(before["apiserver"], signal.SIGKILL)
    place.run("status", code=3)
    assert place.run("up", "--port", "0").stdout.startswith("Trainshed is ready.\n")
    after = pids(place)
    assert place.status()["address"]["port"] == port
    assert (after["operator"], after["agent"]) == (before["operator"], before["agent"])
    controllers_work(place, "again")


def test_a_server_that_comes_back_elsewhere_is_found_there(place: Place) -> None:
    place.run("up", "--port", "0")
    before, port = pids(place), place.status()["address"]["port"]
    os.kill(before["apiserver"], signal.SIGKILL)
    until(lambda: capabilities.can_listen("127.0.0.1", port))
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        place.run("up", "--port", "0")
        assert place.status()["address"]["port"] != port
        controllers_work(place, "elsewhere")
        assert pids(place)["operator"] == before["operator"]


def test_down_ends_what_a_killed_agent_left(place: Place) -> None:
    place.run("up", "--port", "0")
    os.kill(pids(place)["agent"], signal.SIGKILL)
    printed = place.run("down").stdout
    assert "Stopped what the agent had left running" in printed
    assert ours(place.root) == []
    assert place.run("down").stdout == "Not running.\n"


def test_many_starters_at_once_start_one_of_each(place: Place) -> None:
    starters = [place.begin("up", "--port", "0") for _ in range(3)]
    printed = [starter.communicate(timeout=90)[0] for starter in starters]
    assert sorted(text.splitlines()[0] for text in printed) == [
        "Trainshed is already running.",
        "Trainshed is already running.",
        "Trainshed is ready.",
    ]
    part_processes = [
        pid for pid in ours(place.root) if "process" in " ".join(psutil.Process(pid).cmdline()[:4])
    ]
    assert sorted(part_processes) == sorted(pids(place).values())


@pytest.mark.parametrize(
    "moment", ["server.log", "operator.log", "kubeconfig", "server.json", "operator.json"]
)
def test_a_start_that_is_broken_off_leaves_nothing(place: Place, moment: str) -> None:
    with place.begin("up", "--port", "0") as starting:
        until(lambda: (place.root / moment).exists())
        starting.send_signal(signal.SIGINT)
        printed, complaints = starting.communicate(timeout=SECONDS)
    assert "Traceback" not in complaints
    if not printed.startswith("Trainshed is ready."):
        assert ours(place.root) == []


def test_a_second_agent_of_one_folder_does_not_start(place: Place) -> None:
    place.run("up", "--port", "0")
    order = Order(str(place.root), str(place.root))
    second = subprocess.run(
        [sys.executable, "-m", "trainshed.compose.agentprocess", order.written()],
        capture_output=True,
        text=True,
        timeout=companion.HOLD_SECONDS + 30,
        env=place.surroundings(),
    )
    assert second.returncode == 3
    assert f"another agent of {place.root} has not ended" in second.stderr


def test_a_failing_part_is_one_line_and_nothing_is_left(place: Place) -> None:
    (place.root / "agent.json").mkdir(parents=True)
    error = one_line_error(place.run("up", "--port", "0", code=3))
    assert f"{place.root / 'agent.json'} is a folder where a file belongs" in error
    assert ours(place.root) == []
    (place.root / "agent.json").rmdir()


# --- in the foreground --------------------------------------------------------------------------------------


def test_in_the_foreground_one_signal_ends_all(place: Place) -> None:
    with place.begin("up", "--foreground", "--port", "0") as starting:
        assert starting.stdout is not None
        assert starting.stdout.readline() == "Trainshed is ready.\n"
        assert set(pids(place)) == set(NAMES)
        starting.send_signal(signal.SIGINT)
        complaints = starting.communicate(timeout=SECONDS)[1]
    assert starting.returncode == 0, complaints
    assert ours(place.root) == []


def test_in_the_foreground_the_end_of_one_is_the_end_of_all(place: Place) -> None:
    with place.begin("up", "--foreground", "--port", "0") as starting:
        assert starting.stdout is not None
        assert starting.stdout.readline() == "Trainshed is ready.\n"
        os.kill(pids(place)["operator"], signal.SIGKILL)
        complaints = starting.communicate(timeout=SECONDS)[1]
    assert starting.returncode == 1
    assert "the operator ended by itself, so everything was stopped" in complaints.splitlines()[-1]
    assert ours(place.root) == []


def test_in_the_foreground_down_ends_it_without_complaint(place: Place) -> None:
    with place.begin("up", "--foreground", "--port", "0") as starting:
        assert starting.stdout is not None
        assert starting.stdout.readline() == "Trainshed is ready.\n"
        place.run("down")
        starting.communicate(timeout=SECONDS)
    assert starting.returncode == 0


# --- settings -----------------------------------------------------------------------------------------------


def test_settings_are_remembered_and_take_effect_at_once(place: Place) -> None:
    place.run("up", "--port", "0")
    before = pids(place)
    place.run("up", "--relax")
    after = pids(place)
    assert (after["apiserver"], after["agent"]) == (before["apiserver"], before["agent"])
    assert after["operator"] != before["operator"]
    place.run("up")
    assert pids(place) == after


def test_another_runner_is_refused_while_pods_may_run(place: Place) -> None:
    place.run("up", "--port", "0", "--runner", "process")
    error = one_line_error(place.run("up", "--runner", "sandbox", code=3))
    assert "pods already run by the runner process, not sandbox" in error
    assert "down" in error


def test_a_bad_setting_is_one_line_before_anything_starts(place: Place, tmp_path: Path) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('runner = "docker"')
    error = one_line_error(place.run("up", "--port", "0", "--config", str(config), code=2))
    assert f"{config}: runner must be auto, sandbox, process, not 'docker'" in error
    assert ours(place.root) == []


# --- controllers alone --------------------------------------------------------------------------------------


def lease(place: Place) -> JSON:
    async def ask() -> JSON:
        async with Client.connect(kubeconfig.load(place.root / "kubeconfig")) as client:
            return await client.find("leases.coordination.k8s.io", "trainshed-operator", "default")

    return asyncio.run(ask())


def test_controllers_alone_work_for_any_cluster_and_hold_a_lease(place: Place) -> None:
    place.run("up", "--server-only", "--port", "0")
    command = [sys.executable, "-m", "trainshed", "operator", "--controllers", "claims", "--kubeconfig"]
    with subprocess.Popen(
        [*command, str(place.root / "kubeconfig")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=place.surroundings(),
    ) as operator:
        assert operator.stdout is not None
        assert operator.stdout.readline().startswith("Controllers ready (claims) for https://127.0.0.1:")
        controllers_work(place, "data")
        assert str(operator.pid) in lease(place)["spec"]["holderIdentity"]
        operator.send_signal(signal.SIGINT)
        complaints = operator.communicate(timeout=SECONDS)[1]
    assert operator.returncode == 0, complaints
    assert not lease(place)["spec"].get("holderIdentity")


def test_an_unknown_controller_is_wrong_usage(place: Place) -> None:
    command = [sys.executable, "-m", "trainshed", "operator", "--controllers", "trainjob,nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=place.surroundings())
    assert done.returncode == 2
    assert "there is no controller 'nonsense'. Hint: there are trainjob, jobset," in one_line_error(done)


def test_controllers_whose_lease_has_no_namespace_do_not_start(place: Place) -> None:
    place.run("up", "--server-only", "--port", "0")
    command = [sys.executable, "-m", "trainshed", "operator", "--lease-namespace", "nosuch", "--kubeconfig"]
    done = subprocess.run(
        [*command, str(place.root / "kubeconfig")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=place.surroundings(),
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert 'the namespace "nosuch" does not exist' in one_line_error(done)
    assert "--lease-namespace" in done.stderr
