"""Commands run in a container from outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from tests.sandbox.workbench import WAIT_SECONDS, Workbench, appears, processes_naming, until
from trainshed.runner.engine import CannotStart, NotRunning, Session
from trainshed.runner.plan import ContainerPlan


@pytest_asyncio.fixture
async def running(bench: Workbench) -> AsyncIterator[ContainerPlan]:
    plan = bench.container(
        await bench.pod("visited"), "sh", "-c", "cd /; echo mark > /tmp/mark; exec sleep 1000"
    )
    plan = replace(plan, env=(*plan.env, ("GREETING", "hello")), workdir="/usr")
    await bench.start(plan)
    yield plan


async def _all(session: Session) -> tuple[int, str]:
    async with asyncio.timeout(WAIT_SECONDS):
        said = await session.stdout.read()
        said += await session.stderr.read() if session.stderr else b""
        code = await session.wait()
    await session.kill()
    return code, said.decode()


async def test_a_command_sees_the_containers_files_processes_and_environment(
    bench: Workbench, running: ContainerPlan
) -> None:
    script = "cat /tmp/mark; hostname; echo $GREETING; pwd; cat /proc/2/comm; exit 7"
    code, said = await _all(await bench.command(running, "sh", "-c", script))
    assert (code, said.split()) == (7, ["mark", "visited", "hello", "/usr", "sleep"])


async def test_outputs_stay_apart_and_input_arrives(bench: Workbench, running: ContainerPlan) -> None:
    session = await bench.command(running, "sh", "-c", "cat; echo trouble >&2", stdin=True)
    assert session.stdin is not None
    assert session.stderr is not None
    session.stdin.write(b"typed " * 50_000)
    session.stdin.close()
    async with asyncio.timeout(WAIT_SECONDS):
        assert await session.stdout.read() == b"typed " * 50_000
        assert await session.stderr.read() == b"trouble\n"
        assert await session.wait() == 0
    await session.kill()


async def test_a_command_on_a_terminal_knows_its_size_and_name(
    bench: Workbench, running: ContainerPlan
) -> None:
    session = await bench.command(running, "sh", "-c", "read go; stty size; tty", tty=True, stdin=True)
    assert session.stdin is not None
    assert session.stderr is None
    await session.resize(33, 99)
    session.stdin.write(b"go\n")
    code, said = await _all(session)
    assert code == 0
    assert said.split() == ["go", "33", "99", "/dev/pts/0"]


async def test_interrupts_typed_on_a_terminal_reach_the_command(
    bench: Workbench, running: ContainerPlan
) -> None:
    session = await bench.command(running, "sh", "-c", "echo go; exec sleep 1000", tty=True, stdin=True)
    assert session.stdin is not None
    async with asyncio.timeout(WAIT_SECONDS):
        await session.stdout.readuntil(b"go")
        session.stdin.write(b"\x03")
        assert await session.wait() == 130
    await session.kill()


async def test_a_command_ends_when_its_caller_leaves(bench: Workbench, running: ContainerPlan) -> None:
    session = await bench.command(running, "sleep", "98765")
    await session.kill()
    await session.kill()
    await until(lambda: not processes_naming("sleep 98765"), "the end of the command")


async def test_what_is_run_has_no_more_rights_than_the_container(
    bench: Workbench, running: ContainerPlan
) -> None:
    read = ("grep", "-E", "NoNewPrivs|CapEff", "/proc/self/status")
    code, said = await _all(await bench.command(running, *read))
    assert code == 0
    fields = dict(line.split(":\t") for line in said.splitlines())
    assert fields["NoNewPrivs"] == "1"
    assert not int(fields["CapEff"], 16) >> 21 & 1


async def test_a_command_runs_as_the_containers_user(bench: Workbench) -> None:
    plan = replace(bench.container(await bench.pod(), "sleep", "1000"), user=1234)
    await bench.start(plan)
    code, said = await _all(await bench.command(plan, "id", "-u"))
    assert (code, said.strip()) == (0, "1234")


async def test_a_command_that_does_not_exist_is_refused(bench: Workbench, running: ContainerPlan) -> None:
    with pytest.raises(CannotStart, match=r'exec: "nothing": executable file not found in \$PATH'):
        await bench.command(running, "nothing")


async def test_nothing_runs_in_containers_that_do_not(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "true")
    with pytest.raises(NotRunning):
        await bench.command(plan, "true")
    await bench.said(plan)
    with pytest.raises(NotRunning):
        await bench.command(plan, "true")


async def test_a_container_with_an_input_reads_what_is_written_to_it(bench: Workbench) -> None:
    plan = replace(bench.container(await bench.pod(), "sh", "-c", "read a; echo got $a"), stdin=True)
    await bench.start(plan)
    writer = await bench.engine.input(plan.pod.uid, "main")  # type: ignore[attr-defined]
    writer.write(b"something\n")
    await bench.end(plan)
    await appears(plan.log, "got something")
    writer.close()


async def test_a_container_with_a_terminal_has_one_output_and_an_input(bench: Workbench) -> None:
    script = "tty >&2; read a; echo got $a"
    plan = replace(bench.container(await bench.pod(), "sh", "-c", script), stdin=True, tty=True)
    await bench.start(plan)
    writer = await bench.engine.input(plan.pod.uid, "main")  # type: ignore[attr-defined]
    writer.write(b"something\n")
    await bench.end(plan)
    await appears(plan.log, "got something")
    writer.close()
