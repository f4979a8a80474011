"""Supervisors look after one container after the other; nothing of one pod is left for the next."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.workbench import WAIT_SECONDS, Workbench, processes_naming, until
from trainshed.runner.process import records
from trainshed.runner.sandbox import forking, strays

_SPACES = ("net", "uts", "ipc", "mnt")


def supervisors(bench: Workbench) -> set[int]:
    return strays.supervisors(str(bench.folder / "engine"))


def supervisor_of(bench: Workbench, pod: str, container: str = "main") -> int:
    place = str(bench.folder / "engine" / records.PODS / f"uid-{pod}")
    return next(run.supervisor.pid for _, run in records.runs_of(place) if run.container == container)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def open_in(pid: int) -> list[str]:
    found = []
    for one in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.append(os.readlink(f"/proc/{pid}/fd/{one}"))
    return sorted(found)


async def settled(pid: int) -> None:
    """It is back from its pod and waits: with what all have open, its line, three namespaces and a tree."""
    few = len(forking.COMMON) + 5
    await until(lambda: len(open_in(pid)) <= few and is_asleep(pid), f"few descriptors: {open_in(pid)}")


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def is_running(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextlib.contextmanager
def before(pid: int) -> Iterator[None]:
    """On one processor, and ahead of that process and its children."""
    usual = os.sched_getaffinity(0)
    for one in (0, pid):
        os.sched_setaffinity(one, {min(usual)})
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


async def test_the_next_container_has_the_same_supervisor_and_a_pod_of_its_own(bench: Workbench) -> None:
    look = "hostname; hostname -I; cat /dev/shm/note /tmp/note || true"
    script = f"{look}; echo mine | tee /dev/shm/note > /tmp/note"
    said = []
    for number in (1, 2, 3):
        said.append(await bench.shell(script))
        await settled(supervisor_of(bench, f"pod-{number}"))
    assert [words.split()[:2] for words in said] == [
        [f"pod-{number}", f"{bench.prefix}.7.{number}"] for number in (1, 2, 3)
    ]
    assert not [words for words in said if "mine" in words]
    assert len({supervisor_of(bench, f"pod-{number}") for number in (1, 2, 3)}) == 1


async def test_between_two_containers_it_is_in_none_of_the_pods_and_has_nothing_of_it_open(
    bench: Workbench,
) -> None:
    first = bench.container(await bench.pod("first"), "sh", "-c", "sleep 1000")
    started = await bench.start(first)
    pid = supervisor_of(bench, "first")
    there = {kind: os.readlink(f"/proc/{started.pid}/ns/{kind}") for kind in _SPACES}
    within = {kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in _SPACES}
    os.kill(started.pid, signal.SIGKILL)
    await bench.end(first)
    await settled(pid)
    now = {kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in _SPACES}
    assert all(now[kind] not in (there[kind], within[kind]) for kind in _SPACES), (now, there, within)
    assert not [one for one in open_in(pid) if "first" in one or "logs" in one]


async def test_it_has_no_more_open_after_many_containers_than_after_one(bench: Workbench) -> None:
    pod = await bench.pod("busy")
    assert await bench.said(bench.container(pod, "echo", "0")) == "0"
    pid = supervisor_of(bench, "busy")
    await settled(pid)
    before = len(open_in(pid))
    for attempt in range(1, 6):
        assert await bench.said(bench.container(pod, "echo", f"{attempt}", attempt=attempt)) == f"{attempt}"
        await settled(pid)
    assert len(open_in(pid)) == before
    assert supervisors(bench) == {pid}


async def test_one_that_was_killed_while_it_waited_is_replaced(bench: Workbench) -> None:
    assert await bench.shell("echo one") == "one"
    (pid,) = supervisors(bench)
    await settled(pid)
    os.kill(pid, signal.SIGKILL)
    assert await bench.shell("echo two") == "two"
    assert supervisor_of(bench, "pod-2") != pid


async def test_one_that_was_halted_while_it_waited_is_given_no_container(bench: Workbench) -> None:
    assert await bench.shell("echo one") == "one"
    (pid,) = supervisors(bench)
    await settled(pid)
    os.kill(pid, signal.SIGSTOP)
    await until(
        lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "its halt"
    )
    assert await bench.shell("echo two") == "two"
    await until(lambda: pid not in supervisors(bench), "its end")


async def test_one_that_was_halted_while_it_waited_keeps_nobody_from_stopping(bench: Workbench) -> None:
    assert await bench.shell("echo one") == "one"
    (pid,) = supervisors(bench)
    await settled(pid)
    os.kill(pid, signal.SIGSTOP)
    async with asyncio.timeout(WAIT_SECONDS):
        await bench.engine.stop()
    assert not is_running(pid)


async def test_one_that_was_halted_with_its_container_keeps_no_pod_from_being_closed(
    bench: Workbench,
) -> None:
    plan = bench.container(await bench.pod("held"), "sleep", "1000")
    await bench.start(plan)
    os.kill(supervisor_of(bench, "held"), signal.SIGSTOP)
    ending = asyncio.create_task(bench.end(plan))
    async with asyncio.timeout(WAIT_SECONDS):
        await bench.engine.close_pod(plan.pod.uid)
    assert (await ending).code == 137


async def test_nobody_clears_up_after_the_last_one_when_the_holder_is_gone(bench: Workbench) -> None:
    """It is killed while everything is stopped; what its container has left is removed before."""
    plan = bench.container(await bench.pod("last"), "sh", "-c", "exec sleep 1000")
    started = await bench.start(plan)
    pid = supervisor_of(bench, "last")
    os.kill(pid, signal.SIGSTOP)
    with before(parent_of(pid)):  # a child it leaves is seen then
        stopping = asyncio.create_task(bench.engine.stop())
        await until(lambda: not is_running(started.pid), "the container's end")
        os.kill(pid, signal.SIGKILL)
        await stopping
        left = processes_naming(str(bench.folder / "engine"))
    assert not left


async def test_one_that_waits_ends_with_the_holder(bench: Workbench) -> None:
    assert await bench.shell("echo one") == "one"
    (pid,) = supervisors(bench)
    os.kill(parent_of(pid), signal.SIGKILL)
    await until(lambda: pid not in supervisors(bench), "the supervisor's end")
    assert await bench.shell("echo two") == "two"


async def test_a_container_on_the_hosts_network_has_one_of_its_own(bench: Workbench) -> None:
    assert await bench.shell("echo one") == "one"
    before = supervisors(bench)
    pod = await bench.pod("host", host_network=True)
    plan = bench.container(pod, "readlink", "/proc/self/ns/net")
    assert await bench.said(plan) == os.readlink("/proc/self/ns/net")
    assert supervisor_of(bench, "host") not in before
    await until(lambda: supervisors(bench) == before, "the end of that supervisor")


async def test_a_new_holder_adopts_a_run_that_is_over_by_nobodys_namespaces(bench: Workbench) -> None:
    """Its supervisor lives, but in another pod by now."""
    first = await bench.pod("first")
    other = bench.container(first, "sleep", "1000", name="other")
    await bench.start(other)
    assert await bench.said(bench.container(first, "hostname")) == "first"
    await settled(supervisor_of(bench, "first"))
    second = bench.container(await bench.pod("second"), "sh", "-c", "echo mine > /dev/shm/note; sleep 1000")
    await bench.start(second)
    pid = supervisor_of(bench, "second")
    over = [run for _, run in records.runs_of(str(bench.folder / "engine" / records.PODS / "uid-first"))]
    assert pid in {run.supervisor.pid for run in over}, "or this test shows nothing"
    os.kill(parent_of(pid), signal.SIGKILL)
    again = bench.container(first, "sh", "-c", "hostname; ls /dev/shm", attempt=1)
    assert await bench.said(again) == "first"
    for uid in ("uid-second", "uid-first"):
        await bench.engine.close_pod(uid)
    assert await bench.shell("echo fine") == "fine"


@pytest.mark.root
async def test_containers_of_several_users_may_get_the_same_layer(bench: Workbench) -> None:
    for user in (1234, None, 4321):
        assert await bench.shell("id -u", user=user) == f"{user or 0}"
