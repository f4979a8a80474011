"""What the containers of a pod share, and what pods have of each other."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sandbox.workbench import Workbench, appears, exchange, exists, processes_naming, read, until
from trainshed.runner.engine import NotRunning
from trainshed.runner.sandbox.engine import SandboxEngine

_ECHO = """
import socket
server = socket.create_server(("{address}", 29500))
print("listening", flush=True)
while True:
    connection, peer = server.accept()
    connection.sendall(socket.gethostname().encode() + b" heard " + connection.recv(100))
    connection.close()
"""
_ASK = """
import socket
with socket.create_connection(("{name}", 29500), 10) as connection:
    connection.sendall(b"{text}")
    print(connection.recv(100).decode())
"""


async def test_pods_that_listen_on_the_same_port_are_found_by_their_names(bench: Workbench) -> None:
    pods = [await bench.pod("left"), await bench.pod("right"), await bench.pod("asking")]
    for pod in pods[:2]:
        server = bench.container(pod, "python3", "-c", _ECHO.format(address="0.0.0.0"))
        await bench.start(server)
        await appears(server.log, "listening")
    for pod in pods[:2]:
        asking = bench.container(
            pods[2], "python3", "-c", _ASK.format(name=pod.name, text="hello"), name=f"ask-{pod.name}"
        )
        assert await bench.said(asking) == f"{pod.name} heard hello"


_NEIGHBOUR = """
import socket
socket.create_connection(("{address}", 443), 10).close()
print(next(line.split()[3] for line in open("/proc/net/arp") if line.startswith("{address} ")))
"""


async def test_the_node_keeps_its_hardware_address_whoever_comes_and_goes(bench: Workbench) -> None:
    """What is sent to one that is not there any more, slirp4netns takes for its own and carries outside."""
    address = f"{bench.prefix}.0.1"
    expected = "02:74:" + socket.inet_aton(address).hex(":")
    for name in ("one", "two", "three"):
        asking = bench.container(await bench.pod(name), "python3", "-c", _NEIGHBOUR.format(address=address))
        assert await bench.said(asking) == expected


async def test_a_name_added_to_the_hosts_file_is_known_at_once(bench: Workbench) -> None:
    script = "echo ready; until getent hosts late.example; do sleep 0.02; done"
    plan = bench.container(await bench.pod(), "sh", "-c", script)
    await bench.start(plan)
    await appears(plan.log, "ready")
    bench.write_hosts("10.244.9.9 late.example")
    await bench.end(plan)
    await appears(plan.log, "10.244.9.9")


async def test_names_nobody_knows_are_refused_at_once(bench: Workbench) -> None:
    pod = await bench.pod(host_network=False)
    script = (
        "import socket, time; b = time.time(); socket.getfqdn('10.244.200.200'); print(time.time() - b < 3)"
    )
    assert await bench.said(bench.container(pod, "python3", "-c", script)) == "True"


async def test_containers_of_a_pod_share_network_hostname_and_shared_memory(bench: Workbench) -> None:
    pod = await bench.pod("sharing")
    server = bench.container(pod, "python3", "-c", _ECHO.format(address="127.0.0.1"))
    await bench.start(server)
    await appears(server.log, "listening")
    script = _ASK.format(name="localhost", text="me") + "open('/dev/shm/note', 'w').write('kept')"
    assert await bench.said(bench.container(pod, "python3", "-c", script, name="two")) == "sharing heard me"
    assert await bench.said(bench.container(pod, "cat", "/dev/shm/note", name="three")) == "kept"


async def test_pods_do_not_share_memory_or_processes(bench: Workbench) -> None:
    sleeping = bench.container(await bench.pod(), "sh", "-c", "touch /dev/shm/mine; exec sleep 1000")
    await bench.start(sleeping)
    said = await bench.shell("ls /dev/shm; grep -l sleep /proc/[0-9]*/comm || echo alone")
    assert said == "alone"


@pytest.mark.parametrize(("asked", "kilobytes"), [({}, 65536), ({"shm_bytes": 128 << 20}, 131072)])
async def test_shared_memory_has_the_size_that_was_asked_for(
    bench: Workbench, asked: dict[str, int], kilobytes: int
) -> None:
    plan = bench.container(
        await bench.pod("sized", **asked), "sh", "-c", "df --output=size /dev/shm | tail -1"
    )
    assert (await bench.said(plan)).strip() == str(kilobytes)


async def test_a_pod_on_the_hosts_network_sees_the_hosts_interfaces(bench: Workbench) -> None:
    pod = await bench.pod(host_network=True)
    said = await bench.said(bench.container(pod, "sh", "-c", "cat /proc/net/dev"))
    here = read("/proc/net/dev").decode()
    assert _interfaces(said) == _interfaces(here) != {"lo"}


def _interfaces(table: str) -> set[str]:
    return {line.split(":")[0].strip() for line in table.splitlines()[2:]}


async def test_a_pod_among_the_hosts_processes_sees_them_and_leaves_none(bench: Workbench) -> None:
    pod = await bench.pod(host_pid=True)
    script = f"test -d /proc/{os.getpid()} && echo seen; setsid sleep 43210 & sleep 43211"
    plan = bench.container(pod, "sh", "-c", script)
    await bench.start(plan)
    await appears(plan.log, "seen")
    await until(lambda: len(processes_naming("sleep 4321")) >= 2, "both of its sleepers")
    await bench.engine.signal(pod.uid, "main", signal.SIGTERM, everyone=True)
    assert (await bench.end(plan)).code == 143
    assert not processes_naming("sleep 4321")


async def test_connections_reach_a_server_that_listens_inside_a_pod_only(bench: Workbench) -> None:
    pod = await bench.pod("inner")
    server = bench.container(pod, "python3", "-c", _ECHO.format(address="127.0.0.1"))
    await bench.start(server)
    await appears(server.log, "listening")
    with await bench.engine.connect(pod.uid, 29500) as connection:
        assert await exchange(connection, b"you") == b"inner heard you"


async def test_connections_reach_a_server_on_the_pods_address_too(bench: Workbench) -> None:
    pod = await bench.pod("inner")
    server = bench.container(pod, "python3", "-c", _ECHO.format(address=pod.address))
    await bench.start(server)
    await appears(server.log, "listening")
    with await bench.engine.connect(pod.uid, 29500) as connection:
        assert await exchange(connection, b"you") == b"inner heard you"


async def test_connections_nobody_listens_for_are_refused(bench: Workbench) -> None:
    pod = await bench.pod()
    with pytest.raises(ConnectionRefusedError, match="port 4"):
        await bench.engine.connect(pod.uid, 4)
    with pytest.raises(NotRunning):
        await bench.engine.connect("nobody", 4)


async def test_opening_and_closing_twice_does_no_harm(bench: Workbench) -> None:
    pod = await bench.pod()
    await bench.engine.open_pod(pod)
    await bench.engine.close_pod(pod.uid)
    await bench.engine.close_pod(pod.uid)


async def test_closing_a_pod_ends_its_containers_and_forgets_them(bench: Workbench) -> None:
    pod = await bench.pod()
    started = await bench.start(bench.container(pod, "sleep", "1000"))
    await bench.engine.close_pod(pod.uid)
    assert not exists(f"/proc/{started.pid}")
    assert await bench.engine.adopt() == []


async def test_an_address_can_be_used_again_at_once(bench: Workbench) -> None:
    first = await bench.pod("first")
    await bench.engine.close_pod(first.uid)
    second = replace(first, uid="uid-second", name="second", hostname="second")
    await bench.engine.open_pod(second)
    assert await bench.said(bench.container(second, "hostname")) == "second"


async def test_many_pods_can_be_opened_at_once(bench: Workbench) -> None:
    async with asyncio.TaskGroup() as group:
        opened = [group.create_task(bench.pod()) for _ in range(20)]
    async with asyncio.TaskGroup() as group:
        said = [group.create_task(bench.said(bench.container(one.result(), "hostname"))) for one in opened]
    assert [one.result() for one in said] == [one.result().name for one in opened]


def test_the_host_has_no_interface_of_pods(tmp_path: Path) -> None:
    assert "pods" not in [name for _, name in socket.if_nameindex()]


async def test_the_engines_folder_may_be_behind_a_link() -> None:
    with tempfile.TemporaryDirectory(prefix="trainshed-link-", dir="/var/tmp") as name:
        folder = Path(name)
        for real, link in (("real", "link"), ("keys", "secret")):
            (folder / real).mkdir()
            (folder / link).symlink_to(folder / real)
        (folder / "keys" / "key").touch()
        engine = SandboxEngine(folder / "link" / "engine", hidden=[folder / "secret"])
        await engine.start()
        try:
            bench = Workbench(engine, folder)
            assert await bench.shell(f"echo up; ls -A {folder}/keys; ls -A {folder}/real/engine") == "up"
        finally:
            await engine.stop()
