"""Limits by cgroups: as a decision, and for real where we may make groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sandbox.workbench import Workbench, read
from trainshed.runner.engine import CannotStart
from trainshed.runner.plan import Limits
from trainshed.runner.sandbox import cgroups
from trainshed.runner.sandbox.cgroups import Cgroups

_LIMITS = Limits(cpu_shares=512, cpu_quota=1.5, memory=64 << 20, pids=100)


def test_version_1_is_told_shares_quota_memory_and_processes() -> None:
    assert cgroups.version_1(_LIMITS) == {
        "memory": {"memory.limit_in_bytes": "67108864"},
        "cpu": {"cpu.shares": "512", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"},
        "pids": {"pids.max": "100"},
    }


def test_version_2_is_told_the_same_in_its_own_words() -> None:
    assert cgroups.version_2(_LIMITS) == {
        "memory": {"memory.max": "67108864", "memory.swap.max": "0", "memory.oom.group": "1"},
        "cpu": {"cpu.weight": "20", "cpu.max": "150000 100000"},
        "pids": {"pids.max": "100"},
    }


def test_no_limits_need_no_groups() -> None:
    assert cgroups.version_1(Limits()) == cgroups.version_2(Limits()) == {}


@given(st.integers(min_value=0, max_value=1_000_000))
def test_weights_stay_within_bounds(shares: int) -> None:
    assert 1 <= cgroups.weight(shares) <= 10_000


@pytest.mark.parametrize(
    ("offered", "expected"),
    [("cpuset cpu memory pids", "+memory +cpu +pids"), ("memory pids", "+memory +pids"), ("io", "")],
)
def test_of_version_2_what_is_there_is_handed_on(tmp_path: Path, offered: str, expected: str) -> None:
    (tmp_path / "cgroup.controllers").write_text(offered)
    found = cgroups._version_2(str(tmp_path), cgroups._offered(str(tmp_path)), "ours")
    assert found.controllers == tuple(word[1:] for word in expected.split())
    for group in (tmp_path, tmp_path / "ours"):
        assert (group / "cgroup.subtree_control").read_text() == expected


def test_a_group_of_version_2_is_one_folder_with_all_files(tmp_path: Path) -> None:
    groups = Cgroups(2, tuple((name, str(tmp_path)) for name in ("memory", "cpu", "pids")))
    (made,) = groups.make("one", _LIMITS)
    assert Path(made, "memory.max").read_text() == "67108864"
    assert Path(made, "cpu.max").read_text() == "150000 100000"


@pytest.mark.parametrize(
    ("name", "text", "verdict"),
    [
        ("memory.events", "low 0\noom 1\noom_kill 1\n", True),
        ("memory.events", "low 0\noom 1\noom_kill 0\n", False),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", True),
    ],
)
def test_what_the_kernel_counts_tells_whether_memory_ran_out(
    tmp_path: Path, name: str, text: str, verdict: bool
) -> None:
    (tmp_path / name).write_text(text)
    assert cgroups.ran_out_of_memory((str(tmp_path),)) is verdict


@pytest.mark.root
async def test_a_container_that_takes_too_much_memory_is_ended_and_that_is_known(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "python3", "-c", "x = b'x' * (200 << 20); print(len(x))")
    await bench.start(replace(plan, limits=Limits(memory=64 << 20)))
    ended = await bench.end(plan)
    assert (ended.code, ended.signal, ended.oom) == (137, 9, True)


@pytest.mark.root
async def test_a_container_whose_memory_does_not_suffice_to_start_says_so(bench: Workbench) -> None:
    plan = replace(bench.container(await bench.pod(), "true"), limits=Limits(memory=10))
    with pytest.raises(CannotStart) as refused:
        await bench.start(plan)
    assert refused.value.message.endswith("the container ran out of its memory limit of 10 bytes")


@pytest.mark.root
async def test_a_container_within_its_limits_is_left_alone(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "python3", "-c", "x = b'x' * (20 << 20); exit(1)")
    await bench.start(replace(plan, limits=_LIMITS))
    ended = await bench.end(plan)
    assert (ended.code, ended.oom) == (1, False)


@pytest.mark.root
async def test_a_container_cannot_have_more_processes_than_allowed(bench: Workbench) -> None:
    script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 100 & done; echo all"
    plan = bench.container(await bench.pod(), "sh", "-c", script)
    await bench.start(replace(plan, limits=Limits(pids=8)))
    ended = await bench.end(plan)
    assert ended.code != 0


@pytest.mark.root
async def test_commands_run_from_outside_count_for_the_containers_limits(bench: Workbench) -> None:
    plan = replace(bench.container(await bench.pod(), "sleep", "1000"), limits=Limits(memory=64 << 20))
    started = await bench.start(plan)
    session = await bench.command(plan, "cat", "/proc/self/cgroup")
    said = (await session.stdout.read()).decode()
    await session.kill()
    assert [line for line in said.splitlines() if ":memory:" in line] == [
        line for line in read(f"/proc/{started.pid}/cgroup").decode().splitlines() if ":memory:" in line
    ]
    assert "uid-pod-1-main-0" in said
