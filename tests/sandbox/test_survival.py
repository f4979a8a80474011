"""Who may be killed: containers live on, and nothing about them is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sandbox.workbench import WAIT_SECONDS, Workbench, appears, exists, lines, processes_naming, until
from trainshed.runner.engine import CannotStart, NotRunning
from trainshed.runner.plan import ContainerPlan, Mount
from trainshed.runner.process import records
from trainshed.runner.sandbox import strays
from trainshed.runner.sandbox.engine import SandboxEngine

_USER_TOO = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]

_AGENT = """
import asyncio, pathlib, sys
from dataclasses import replace
from tests.sandbox.workbench import Workbench
from trainshed.runner.plan import Mount
from trainshed.runner.sandbox.engine import SandboxEngine

async def main():
    folder = pathlib.Path(sys.argv[1])
    engine = SandboxEngine(folder / "engine")
    await engine.start()
    bench = Workbench(engine, folder)
    pod = await bench.pod("left")
    script = "until test -e /signs/go; do sleep 0.02; done; echo done; exit 5"
    signs = Mount("/signs", "ro-bind", str(folder / "left"))
    await bench.start(replace(bench.container(pod, "sh", "-c", script), mounts=(signs,)))
    await bench.said(bench.container(pod, "sh", "-c", "exit 0", name="short"))
    print("running", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def _holder(folder: Path) -> int:
    """The oldest of the processes that name the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and str(folder / "engine").encode() in _words(entry):
            found.append(int(entry.name))
    return min(found)


def _words(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


def _supervisor(bench: Workbench, pod: str) -> int:
    found = [run for _, run in records.runs(str(bench.folder / "engine")) if run.pod == pod]
    return found[-1].supervisor.pid


async def test_containers_of_an_agent_that_was_killed_are_adopted(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    agent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _AGENT, str(tmp_path), stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert agent.stdout is not None
    async with asyncio.timeout(WAIT_SECONDS):
        assert await agent.stdout.readline() == b"running\n"
    agent.send_signal(signal.SIGKILL)
    await agent.wait()
    agent._transport.close()  # type: ignore[attr-defined]
    engine = SandboxEngine(tmp_path / "engine")
    await engine.start()
    try:
        found = {one.container: one for one in await engine.adopt()}
        short = found["short"].exit
        assert short is not None
        assert short.code == 0
        assert found["main"].exit is None
        assert exists(f"/proc/{found['main'].pid}")
        (tmp_path / "left" / "go").touch()
        async with asyncio.timeout(WAIT_SECONDS):
            assert (await engine.wait("uid-left", "main", 0)).code == 5
    finally:
        await engine.stop()
    assert "done" in (tmp_path / "logs" / "left-main-0.log").read_text()
    assert not processes_naming(str(tmp_path))


async def _waiting_container(bench: Workbench, pod: str = "one") -> ContainerPlan:
    plan = await bench.pod(pod)
    sign = f"{bench.folder}/{pod}"
    script = f"echo up; until test -e {sign}/go; do sleep 0.02; done; echo done; exit 5"
    container = replace(bench.container(plan, "sh", "-c", script), mounts=(Mount(sign, "ro-bind", sign),))
    await bench.start(container)
    await appears(container.log, "up")
    return container


async def test_a_container_survives_the_holder_and_its_end_is_recorded(bench: Workbench) -> None:
    container = await _waiting_container(bench)
    os.kill(_holder(bench.folder), signal.SIGKILL)
    waiting = asyncio.create_task(bench.end(container))
    (bench.folder / "one" / "go").touch()
    assert (await waiting).code == 5
    await appears(container.log, "done")


async def test_a_holder_that_cannot_be_started_is_told_in_one_line_until_it_can(
    bench: Workbench, caplog: pytest.LogCaptureFixture
) -> None:
    words = bench.folder / "engine" / "holder.log"
    words.unlink()
    words.mkdir()
    os.kill(_holder(bench.folder), signal.SIGKILL)
    await until(lambda: "cannot be started" in caplog.text, "a word of it")
    words.rmdir()
    assert await bench.said(bench.container(await bench.pod("next"), "echo", "well")) == "well"
    told = next(record for record in caplog.records if "cannot be started" in record.getMessage())
    assert (told.levelname, told.exc_info) == ("WARNING", None)
    assert "Is a directory" in told.getMessage()


async def test_a_holder_comes_while_the_last_container_ends(bench: Workbench) -> None:
    for turn in range(5):
        container = await _waiting_container(bench, f"last-{turn}")
        os.kill(_holder(bench.folder), signal.SIGKILL)
        (bench.folder / f"last-{turn}" / "go").touch()
        next_one = await bench.pod(f"next-{turn}")
        assert (await bench.end(container)).code == 5
        assert await bench.said(bench.container(next_one, "hostname")) == f"next-{turn}"


@pytest.mark.parametrize("overlay", [True, False])
async def test_what_a_killed_supervisor_left_is_ended_by_the_next_holder(
    tmp_path: Path, overlay: bool
) -> None:
    engine = SandboxEngine(tmp_path / "engine", overlay=overlay)
    await engine.start()
    try:
        bench = Workbench(engine, tmp_path)
        container = await _waiting_container(bench)
        (run,) = [run for _, run in records.runs(str(tmp_path / "engine"))]
        stray = _stray_beside(run.supervisor.pid)
        os.kill(_holder(tmp_path), signal.SIGKILL)
        os.kill(run.supervisor.pid, signal.SIGKILL)
        await bench.end(container)
        await bench.pod("next")
        await until(lambda: stray.poll() is not None, "the stray's end")
    finally:
        await engine.stop()


_NAMED = """
import sys
from trainshed.runner.sandbox import syscalls
syscalls.set_name("trainshed-pod")
print("named", flush=True)
sys.stdin.read()
"""


@pytest.mark.root
@pytest.mark.parametrize("is_ours", [True, False])
def test_supervisors_of_another_folder_with_the_same_path_are_not_ours(tmp_path: Path, is_ours: bool) -> None:
    """A container and its host may have one each, and the host sees the processes of both."""
    before = "" if is_ours else f"mount -t tmpfs other {tmp_path};"
    words = ["unshare", "--mount", "sh", "-c", f'{before} exec "$@"', "sh", sys.executable, "-c", _NAMED]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [*words, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"named\n"
        assert strays.supervisors(str(tmp_path)) == ({one.pid} if is_ours else set())
        one.communicate(timeout=WAIT_SECONDS)


def _stray_beside(supervisor: int) -> subprocess.Popen[bytes]:
    """A process with the mounts and the host name of a pod, bound to nobody."""
    into = ["nsenter", f"--target={supervisor}", "--mount", "--uts", *_USER_TOO]
    return subprocess.Popen([*into, "sleep", "600"])


async def test_a_new_holder_joins_the_network_and_memory_of_pods_that_live(bench: Workbench) -> None:
    container = await _waiting_container(bench)
    pod = container.pod
    await bench.said(bench.container(pod, "sh", "-c", "echo kept > /dev/shm/note", name="writer"))
    os.kill(_holder(bench.folder), signal.SIGKILL)
    assert await bench.said(bench.container(pod, "cat", "/dev/shm/note", name="reader")) == "kept"
    other = await bench.pod("other")
    script = "import socket; socket.create_connection(('one', 7), 5)"
    asking = bench.container(other, "python3", "-c", script)
    await bench.start(asking)
    await bench.end(asking)
    await appears(asking.log, "Connection refused")  # by the pod itself: there is a way to it
    session = await bench.command(container, "hostname")
    assert (await session.stdout.read()).strip() == b"one"
    await session.kill()
    (bench.folder / "one" / "go").touch()
    assert (await bench.end(container)).code == 5


async def test_a_pod_without_containers_is_opened_again_after_the_holders_death(bench: Workbench) -> None:
    pod = await bench.pod("empty")
    os.kill(_holder(bench.folder), signal.SIGKILL)
    assert await bench.said(bench.container(pod, "hostname")) == "empty"


@pytest.mark.parametrize("size", [10, 1_000_000], ids=["heard nothing", "heard half"])
async def test_what_a_holder_was_asked_while_it_died_is_asked_again(bench: Workbench, size: int) -> None:
    pod = await bench.pod("one")
    asked = replace(bench.container(pod, "sh", "-c", "echo $#"), termination_path="/" + "x" * size)
    os.kill(holder := _holder(bench.folder), signal.SIGSTOP)
    running = asyncio.create_task(bench.start(asked))
    await until(_is_asking, "a question at the holder")
    os.kill(holder, signal.SIGKILL)
    await running
    assert (await bench.end(asked)).code == 0


def _is_asking() -> bool:
    """Whether a socket of ours leads to a holder."""
    return any(_leads_to(int(entry), "holder.sock") for entry in os.listdir("/proc/self/fd"))


def _leads_to(descriptor: int, name: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
        return copy.family == socket.AF_UNIX and str(copy.getpeername()).endswith(name)
    return False


async def test_a_killed_supervisor_takes_its_container_along(bench: Workbench) -> None:
    container = await _waiting_container(bench)
    (run,) = [run for _, run in records.runs(str(bench.folder / "engine"))]
    os.kill(run.supervisor.pid, signal.SIGKILL)
    ended = await bench.end(container)
    assert (ended.code, ended.signal, ended.message) == (
        137,
        9,
        "the process that looked after the container was killed",
    )
    await until(lambda: not exists(f"/proc/{run.init.pid}") and not exists(f"/proc/{run.pid}"), "its end")
    (found,) = await bench.engine.adopt()
    assert found.exit is not None
    assert found.exit.code == 137


async def test_exit_codes_survive_the_death_of_agent_holder_and_supervisor(bench: Workbench) -> None:
    first, second = await _waiting_container(bench), await _waiting_container(bench, "two")
    os.kill(_holder(bench.folder), signal.SIGKILL)
    os.kill(_supervisor(bench, first.pod.uid), signal.SIGKILL)
    (bench.folder / "two" / "go").touch()
    await bench.end(second)
    fresh = SandboxEngine(bench.folder / "engine")  # another agent, which has not even started
    codes = {one.pod_uid: one.exit.code for one in await fresh.adopt() if one.exit}
    assert codes == {first.pod.uid: 137, second.pod.uid: 5}


async def test_signals_reach_the_first_process_or_all_of_them(bench: Workbench) -> None:
    script = "trap 'echo asked; exit 9' TERM; sh -c 'trap \"\" TERM; echo up; sleep 1000' & wait"
    container = bench.container(await bench.pod(), "sh", "-c", script)
    await bench.start(container)
    await appears(container.log, "up")
    await bench.engine.signal(container.pod.uid, "main", signal.SIGTERM)
    assert (await bench.end(container)).code == 9
    await appears(container.log, "asked")
    await bench.engine.signal(container.pod.uid, "main", signal.SIGTERM)  # long ended: no trouble


async def test_a_signal_for_everyone_reaches_children_too(bench: Workbench) -> None:
    script = (
        "trap : USR1; sh -c 'trap \"echo child\" USR1; echo up; while :; do sleep 0.02; done' & wait; wait"
    )
    container = bench.container(await bench.pod(), "sh", "-c", script)
    await bench.start(container)
    await appears(container.log, "up")
    await bench.engine.signal(container.pod.uid, "main", signal.SIGUSR1, everyone=True)
    await appears(container.log, "child")
    await bench.engine.signal(container.pod.uid, "main", signal.SIGKILL, everyone=True)
    assert (await bench.end(container)).code == 137


async def test_nobody_waits_for_runs_that_never_were(bench: Workbench) -> None:
    with pytest.raises(NotRunning):
        await bench.engine.wait("nobody", "main", 0)


def _starting(folder: Path) -> list[int]:
    """Supervisors, children of the holder."""
    holder = _holder(folder)
    children = Path(f"/proc/{holder}/task/{holder}/children").read_text().split()
    return [int(pid) for pid in children if _name(pid) == "trainshed-pod"]


def _name(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


async def test_a_container_whose_supervisor_was_killed_at_the_start_can_be_started(bench: Workbench) -> None:
    pod = await bench.pod("one")
    pipe = bench.folder / "one" / "pipe"
    os.mkfifo(pipe, 0o755)  # whoever looks what kind of program it is waits for long
    mounts = (Mount("/data", "ro-bind", str(pipe.parent)),)
    starting = asyncio.create_task(bench.start(replace(bench.container(pod, "/data/pipe"), mounts=mounts)))
    await until(lambda: _starting(bench.folder), "a supervisor")
    os.kill(_starting(bench.folder)[0], signal.SIGKILL)
    with pytest.raises(CannotStart, match="without a word"):
        await starting
    place = records.folder(str(bench.folder / "engine"), pod.uid, "main", 0)
    await until(lambda: not exists(place), "nothing on record")
    assert await bench.said(bench.container(pod, "echo", "now")) == "now"


async def test_an_end_that_cannot_be_written_yet_is_written_later(bench: Workbench) -> None:
    container = await _waiting_container(bench)
    ((place, run),) = records.runs(str(bench.folder / "engine"))
    os.mkdir(f"{place}/exit.json")  # as good as a full disk
    (bench.folder / "one" / "go").touch()
    await until(lambda: not exists(f"/proc/{run.pid}"), "its end")
    await asyncio.sleep(1)
    assert records.read_run(place) == run
    os.rmdir(f"{place}/exit.json")
    await until(lambda: records.read_ending(place), "a record")
    assert (await bench.end(container)).code == 5


async def test_the_holder_lives_on_when_a_loss_cannot_be_written_yet(bench: Workbench) -> None:
    container = await _waiting_container(bench)
    ((place, run),) = records.runs(str(bench.folder / "engine"))
    holder = _holder(bench.folder)
    os.mkdir(f"{place}/exit.json")
    os.kill(run.supervisor.pid, signal.SIGKILL)
    await until(lambda: not exists(f"/proc/{run.supervisor.pid}"), "its end")
    assert await bench.said(bench.container(await bench.pod("two"), "echo", "well")) == "well"
    os.rmdir(f"{place}/exit.json")
    await until(lambda: records.read_ending(place), "a record")
    assert (await bench.end(container)).code == 137
    assert _holder(bench.folder) == holder


async def test_a_killed_supervisor_leaves_nothing_of_its_container(bench: Workbench) -> None:
    pod = await bench.pod("one", host_pid=True)
    other = bench.container(pod, "sleep", "1000", name="other")
    await bench.start(other)
    container = bench.container(pod, "sh", "-c", "setsid sleep 1000 & echo $!; wait")
    await bench.start(container)
    await until(lambda: exists(container.log) and lines(container.log), "the number of a process")
    (stray,) = lines(container.log)
    os.kill(_run(bench, "main").supervisor.pid, signal.SIGKILL)
    await until(lambda: not exists(f"/proc/{stray}"), "its end")
    assert (await bench.end(container)).code == 137
    assert records.is_alive(_run(bench, "other").init)


def _run(bench: Workbench, container: str) -> records.Run:
    found = [run for _, run in records.runs(str(bench.folder / "engine")) if run.container == container]
    return found[-1]


async def test_supervisors_killed_at_any_moment_of_a_start_leave_no_process(bench: Workbench) -> None:
    pod, mark = await bench.pod("one"), f"{bench.folder}/mark"
    for number in range(12):
        container = bench.container(pod, "sh", "-c", "sleep 1000; exit", mark, name=f"c{number}")
        starting = asyncio.create_task(bench.start(container))
        # A start may be refused before anybody sees its supervisor: that leaves nothing either.
        await until(lambda: starting.done() or _starting(bench.folder), "a supervisor")  # noqa: B023
        await asyncio.sleep(0.003 * number)
        for pid in _starting(bench.folder):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(CannotStart):
            await starting
        await until(lambda: not _starting(bench.folder), "its end")
        await until(lambda: not processes_naming(mark), "the end of all that was started")


async def test_holders_killed_with_their_supervisors_in_a_start_leave_no_process(bench: Workbench) -> None:
    mark = f"{bench.folder}/mark"
    for number in range(8):
        pod = await bench.pod()
        container = bench.container(pod, "sh", "-c", "sleep 1000; exit", mark)
        starting = asyncio.create_task(bench.start(container))
        await until(lambda: starting.done() or _starting(bench.folder), "a supervisor")  # noqa: B023
        await asyncio.sleep(0.004 * number)
        for pid in (_holder(bench.folder), *_starting(bench.folder)):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(CannotStart):
            await starting
        await bench.engine.close_pod(pod.uid)
        await until(lambda: not processes_naming(mark), "the end of all that was started")
