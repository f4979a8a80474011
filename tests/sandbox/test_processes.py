"""The plain process engine: what it can do without namespaces, and how it says what it cannot."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sandbox.workbench import (
    WAIT_SECONDS,
    Workbench,
    appears,
    entries,
    exchange,
    exists,
    processes_naming,
    until,
)
from trainshed.runner.engine import CannotStart, NotRunning
from trainshed.runner.plan import ContainerPlan, Mount, PodPlan
from trainshed.runner.process import mapping, records
from trainshed.runner.process.engine import ProcessEngine
from trainshed.runner.process.mapping import Unmappable


def _plan(*argv: str, **more: object) -> ContainerPlan:
    pod = PodPlan("u", "ns", "p", "p", "127.64.0.9", "/h", "/f")
    plan = ContainerPlan(pod, "c", 0, argv, (), "/", (), "/", True, "/log", "", "")
    return replace(plan, **more)  # type: ignore[arg-type]


_PEERS = {"job-node-0-0.job": "127.64.0.1", "job-node-0-1.job": "127.64.0.2", "job-node-0-0": "127.64.0.1"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("job-node-0-0.job", "127.64.0.1"),
        ("--rdzv=job-node-0-1.job:29500", "--rdzv=127.64.0.2:29500"),
        ('["job-node-0-0.job:2222", "job-node-0-1.job:2222"]', '["127.64.0.1:2222", "127.64.0.2:2222"]'),
        ("other-job-node-0-0.job", "other-job-node-0-0.job"),
        ("job-node-0-0.jobs", "job-node-0-0.jobs"),
        ("job-node-0-00", "job-node-0-00"),
    ],
)
def test_names_of_peers_become_addresses_where_they_stand_alone(text: str, meant: str) -> None:
    words = mapping.translate(_plan(text, env=(("A", text),)), {}, _PEERS)
    assert (words.argv[0], words.env["A"]) == (meant, meant)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/data", "/host/d"),
        ("/data/train.csv", "/host/d/train.csv"),
        ("cd /data && ls '/data'", "cd /host/d && ls '/host/d'"),
        ("/datasets /data-2 /my/data data", "/datasets /data-2 /my/data data"),
    ],
)
def test_paths_of_volumes_become_the_folders_behind_them(text: str, meant: str) -> None:
    plan = _plan(text, mounts=(Mount("/data", "bind", "/host/d"),), workdir="/data/x")
    words = mapping.translate(plan, mapping.places(plan, {}), {})
    assert words.argv == (meant,)
    assert words.workdir == "/host/d/x"
    assert words.env["TRAINSHED_MOUNT_0"] == "/data=/host/d"


def test_a_volume_nobody_names_is_refused() -> None:
    with pytest.raises(Unmappable, match="cannot have /data: nothing is mounted without sandboxes"):
        mapping.places(_plan("python", "train.py", mounts=(Mount("/data", "bind", "/host/d"),)), {})


def test_tokens_and_shared_memory_are_not_missed() -> None:
    mounts = (
        Mount("/var/run/secrets/kubernetes.io/serviceaccount", "ro-bind", "/t"),
        Mount("/dev/shm", "tmpfs"),
    )
    assert mapping.places(_plan("x", mounts=mounts), {"/dev/shm": "/s"})["/dev/shm"] == "/s"


@given(
    st.text(),
    st.dictionaries(st.from_regex(r"[a-z]{1,4}\.[a-z]{1,4}", fullmatch=True), st.just("127.64.0.1")),
)
def test_a_text_that_names_nobody_stays_as_it_is(text: str, peers: dict[str, str]) -> None:
    if not any(name in text for name in peers):
        assert mapping.translate(_plan(text), {}, peers).argv == (text,)


def test_hosts_files_are_read_like_a_resolver_reads_them() -> None:
    text = "127.0.0.1 localhost\n::1 ip6-localhost x\n# 1.1.1.1 no\n127.64.0.1 a.b a # end\n127.64.0.2 a\n\n"
    assert mapping.addresses(text) == {"a.b": "127.64.0.1", "a": "127.64.0.1"}


async def test_exit_code_and_outputs_are_recorded(plain: Workbench) -> None:
    plan = plain.container(await plain.pod(), "sh", "-c", "echo out; echo err >&2; exit 3")
    started = await plain.start(plan)
    ended = await plain.end(plan)
    assert (ended.code, started.at) == (3, ended.started)
    assert sorted(entries(plan.log)) == [("stderr", "F", "err"), ("stdout", "F", "out")]


async def test_pods_meet_on_addresses_of_their_own(plain: Workbench) -> None:
    left, right = await plain.pod("left"), await plain.pod("right")
    script = """
import os, socket
server = socket.create_server((os.environ["TRAINSHED_ADDRESS"], 29517))
print("listening", flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(server.getsockname()[0].encode())
    connection.close()
"""
    for pod in (left, right):
        plan = plain.container(pod, "python3", "-c", script)
        await plain.start(plan)
        await appears(plan.log, "listening")
    ask = "import socket, sys; print(socket.create_connection((sys.argv[1], 29517), 5).recv(99).decode())"
    asking = plain.container(left, "python3", "-c", ask, "right", name="ask")
    assert await plain.said(asking) == right.address
    with await plain.engine.connect(left.uid, 29517) as connection:
        assert await exchange(connection, b"x") == left.address.encode()


async def test_what_cannot_be_started_is_refused_in_words(plain: Workbench) -> None:
    pod = await plain.pod()
    with pytest.raises(CannotStart, match=r'exec: "nothing": executable file not found in \$PATH'):
        await plain.start(plain.container(pod, "nothing"))
    with pytest.raises(CannotStart, match="working directory /no/where cannot be used"):
        await plain.start(replace(plain.container(pod, "true"), workdir="/no/where"))
    with pytest.raises(CannotStart, match="needs sandboxes"):
        await plain.start(replace(plain.container(pod, "true"), root="/other"))


async def test_everything_a_container_started_ends_with_it(plain: Workbench) -> None:
    plan = plain.container(await plain.pod(), "sh", "-c", "setsid sleep 65432 & exit 0")
    await plain.start(plan)
    assert (await plain.end(plan)).code == 0
    assert not processes_naming("sleep 65432")


async def test_signals_and_adoption_work_as_in_sandboxes(plain: Workbench) -> None:
    plan = plain.container(await plain.pod(), "sleep", "1000")
    started = await plain.start(plan)
    fresh = ProcessEngine(plain.folder / "engine")
    (found,) = await fresh.adopt()
    assert (found.pid, found.exit) == (started.pid, None)
    await fresh.signal(plan.pod.uid, "main", signal.SIGTERM)
    assert (await plain.end(plan)).code == 143


@pytest.mark.parametrize(("code", "number"), [(7, 0), (143, 15), (250, 0)])
async def test_a_code_that_no_signal_leaves_is_none(plain: Workbench, code: int, number: int) -> None:
    plan = plain.container(await plain.pod(), "sh", "-c", f"exit {code}")
    await plain.start(plan)
    ended = await plain.end(plan)
    assert (ended.code, ended.signal) == (code, number)


async def test_a_killed_supervisor_takes_its_container_along(plain: Workbench) -> None:
    plan = plain.container(await plain.pod(), "sh", "-c", "sleep 76543 & wait")
    started = await plain.start(plan)
    (run,) = [run for _, run in records.runs(str(plain.folder / "engine"))]
    os.kill(run.supervisor.pid, signal.SIGKILL)
    ended = await plain.end(plan)
    assert (ended.code, ended.message) == (137, "the process that looked after the container was killed")
    await until(lambda: not exists(f"/proc/{started.pid}"), "the end of the container")
    await until(lambda: not processes_naming("sleep 76543"), "the end of its children")


async def test_commands_run_beside_a_container(plain: Workbench) -> None:
    plan = plain.container(await plain.pod(), "sleep", "1000")
    plan = replace(plan, env=(*plan.env, ("GREETING", "hello")))
    with pytest.raises(NotRunning):
        await plain.command(plan, "true")
    await plain.start(plan)
    session = await plain.command(plan, "sh", "-c", "echo $GREETING; cat; exit 4", stdin=True)
    assert session.stdin is not None
    session.stdin.write(b"typed")
    session.stdin.close()
    async with asyncio.timeout(WAIT_SECONDS):
        assert await session.stdout.read() == b"hello\ntyped"
        assert await session.wait() == 4
    await session.kill()


async def test_commands_find_the_volumes_of_their_container_also_under_a_later_engine(
    plain: Workbench, tmp_path: Path
) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    plan = plain.container(await plain.pod(), "sh", "-c", "echo hi > /shared/x; exec sleep 1000")
    plan = replace(
        plan,
        env=(*plan.env, ("DATA", "/shared")),
        mounts=(Mount("/shared", "bind", str(volume)),),
        workdir="/shared",
    )
    await plain.start(plan)
    await until(lambda: exists(str(volume / "x")), "the container's file")
    assert isinstance(plain.engine, ProcessEngine)
    later = ProcessEngine(Path(plain.engine._folder))
    for engine in (plain.engine, later):
        await engine.adopt()
        session = await engine.exec(
            plan.pod.uid,
            plan.name,
            ["sh", "-c", "cat /shared/x x $DATA/x; echo $MORE"],
            env={**dict(plan.env), "MORE": "/shared/y"},
            tty=False,
            stdin=False,
        )
        async with asyncio.timeout(WAIT_SECONDS):
            assert (await session.stdout.read()).decode() == f"hi\nhi\nhi\n{volume}/y\n"
        await session.kill()


async def test_a_command_may_have_a_terminal(plain: Workbench) -> None:
    plan = plain.container(await plain.pod(), "sleep", "1000")
    await plain.start(plan)
    session = await plain.command(plan, "sh", "-c", "read go; stty size", tty=True, stdin=True)
    assert session.stdin is not None
    await session.resize(44, 88)
    session.stdin.write(b"go\n")
    async with asyncio.timeout(WAIT_SECONDS):
        assert (await session.stdout.read()).split() == [b"go", b"44", b"88"]
        assert await session.wait() == 0
    await session.kill()


async def test_missing_mount_paths_become_links_where_that_is_allowed(tmp_path: Path) -> None:
    engine = ProcessEngine(tmp_path / "engine", links=True)
    await engine.start()
    bench = Workbench(engine, tmp_path, "127.64")
    target = tmp_path / "shown"
    pod = await bench.pod()
    plan = bench.container(pod, "sh", "-c", "echo x > $0/shown/made", str(tmp_path))
    plan = replace(plan, mounts=(Mount(str(target), "bind", str(tmp_path / pod.name)),))
    await bench.said(plan)
    assert target.is_symlink()
    await engine.stop()
    assert not exists(str(target))
    assert (tmp_path / pod.name / "made").read_text() == "x\n"
