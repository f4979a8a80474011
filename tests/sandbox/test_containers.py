"""What a container finds inside, and what it cannot do to the host."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sandbox.workbench import Workbench, entries, exists, processes_naming, read, write
from trainshed.runner.plan import Limits, Mount


async def test_exit_code_and_both_outputs_are_recorded(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "sh", "-c", "echo out; echo err >&2; exit 3")
    started = await bench.start(plan)
    ended = await bench.end(plan)
    assert (ended.code, ended.signal, ended.oom) == (3, 0, False)
    assert started.at == ended.started <= ended.finished
    assert sorted(entries(plan.log)) == [("stderr", "F", "err"), ("stdout", "F", "out")]


async def test_a_signal_that_ends_a_container_shows_in_its_exit_code(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "sh", "-c", "kill -SEGV $$")
    await bench.start(plan)
    ended = await bench.end(plan)
    assert (ended.code, ended.signal) == (139, 11)


async def test_the_environment_is_the_plans_and_nothing_else(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "/usr/bin/env")
    plan = replace(plan, env=(("A", "1"), ("EMPTY", ""), ("LINES", "a b\tc=ü")))
    assert sorted(await _words(bench, plan)) == ["A=1", "EMPTY=", "LINES=a b\tc=ü", "PWD=/"]


async def _words(bench: Workbench, plan: object) -> list[str]:
    return (await bench.said(plan)).splitlines()  # type: ignore[arg-type]


async def test_a_missing_working_directory_is_made(bench: Workbench) -> None:
    assert (
        await bench.shell("pwd; touch here", workdir="/a-workspace-of-a-test/deep")
        == "/a-workspace-of-a-test/deep"
    )
    assert not exists("/a-workspace-of-a-test")


async def test_what_a_container_writes_outside_volumes_is_its_own(bench: Workbench) -> None:
    pod = await bench.pod()
    script = (
        "mkdir /brand-new; for f in /usr /etc /var /opt /brand-new /tmp; do echo x > $f/by-a-container; done"
    )
    await bench.said(bench.container(pod, "sh", "-ec", script))
    places = [f"/{name}/by-a-container" for name in ("usr", "etc", "var", "opt", "brand-new", "tmp")]
    assert not any(map(exists, places))
    again = bench.container(pod, "sh", "-c", f"ls {' '.join(places)} 2>/dev/null; true", attempt=1)
    assert await bench.said(again) == ""


async def test_the_end_of_a_container_is_no_sync_of_the_whole_disk(bench: Workbench) -> None:
    """What it wrote goes with it; twice in one pod, as the second one may get the layer of the first."""
    pod = await bench.pod()
    for attempt in range(2):
        plan = bench.container(pod, "grep", " overlay ", "/proc/self/mounts", attempt=attempt)
        laid = (await bench.said(plan)).splitlines()
        assert laid
        assert all("volatile" in line for line in laid), laid


@pytest.mark.root
async def test_a_file_of_the_host_can_be_changed_without_harm(bench: Workbench) -> None:
    before = read("/etc/passwd")
    said = await bench.shell("echo extra >> /etc/passwd; tail -1 /etc/passwd; rm /etc/hostname || true")
    assert said.splitlines()[0] == "extra"
    assert read("/etc/passwd") == before


def _visible_home() -> str:
    """A folder of our own that pods see; they have a /tmp of their own."""
    home = os.path.expanduser("~")
    return "/var/tmp" if home.startswith("/tmp/") else home


async def test_a_file_of_our_own_can_be_changed_without_harm(bench: Workbench) -> None:
    with tempfile.TemporaryDirectory(dir=_visible_home()) as place:
        note = f"{place}/note"
        write(note, "before\n")
        assert await bench.shell(f"echo after >> {note}; cat {note}; rm -r {place}") == "before\nafter"
        assert read(note) == b"before\n"


async def test_a_home_folder_can_be_written(bench: Workbench) -> None:
    assert await bench.shell("mkdir -p ~/.cache/x && touch ~/.cache/x/y && ls ~/.cache/x") == "y"


async def test_a_read_only_root_refuses_all_writes_but_those_to_volumes(bench: Workbench) -> None:
    (bench.folder / "data").mkdir()
    script = "for f in /usr /tmp / /deep /tmp/shown; do touch $f/x && echo wrote $f; done 2>/dev/null;"
    script += " touch /deep/data/y; ls /tmp"
    data = str(bench.folder / "data")
    mounts = (
        Mount("/deep/data", "bind", data),
        Mount("/deep/memory", "tmpfs"),
        Mount("/tmp/shown/to/all", "ro-bind", data),
    )
    with tempfile.NamedTemporaryFile(dir="/tmp") as ours:
        found = (await bench.shell(script, *mounts, writable=False)).splitlines()
    environment = sys.prefix.split("/")[2:3] if sys.prefix.startswith("/tmp/") else []
    assert sorted(found) == sorted(["shown", *environment]), f"this machine's, as {ours.name}, is not seen"
    assert (bench.folder / "data" / "y").exists()


async def test_volumes_appear_where_they_are_mounted(bench: Workbench) -> None:
    data, file = bench.folder / "data", bench.folder / "file"
    (data / "sub").mkdir(parents=True)
    (data / "a").write_text("from the host")
    file.write_text("one file")
    mounts = (
        Mount("/data", "bind", str(data)),
        Mount("/usr/share/deep/read", "ro-bind", str(data)),
        Mount("/etc/one-file", "ro-bind", str(file)),
        Mount("/data/sub", "tmpfs", size=1 << 20, mode=0o777),
    )
    script = """
        cat /data/a /usr/share/deep/read/a /etc/one-file; echo
        echo back > /data/b
        touch /usr/share/deep/read/c 2>/dev/null || echo refused
        stat -c %a /data/sub; df --output=size /data/sub | tail -1
    """
    said = (await bench.shell(script, *mounts)).split("\n")
    assert said[0] == "from the hostfrom the hostone file"
    assert [word.strip() for word in said[1:]] == ["refused", "777", "1024"]
    assert (data / "b").read_text() == "back\n"


async def test_mount_paths_with_links_in_them_end_where_the_links_lead(bench: Workbench) -> None:
    (bench.folder / "token").mkdir()
    (bench.folder / "token" / "t").write_text("secret")
    mount = Mount("/var/run/secrets/kubernetes.io/serviceaccount", "ro-bind", str(bench.folder / "token"))
    assert await bench.shell("cat /run/secrets/kubernetes.io/serviceaccount/t", mount) == "secret"


async def test_the_termination_log_is_a_file_of_the_host(bench: Workbench) -> None:
    note = bench.folder / "note"
    note.touch()
    await bench.shell(
        "echo because > /dev/termination-log",
        termination_log=str(note),
        termination_path="/dev/termination-log",
    )
    assert note.read_text() == "because\n"


async def test_hidden_folders_are_empty_and_so_is_the_engines_own(bench: Workbench) -> None:
    (bench.folder / "secret").mkdir()
    (bench.folder / "secret" / "key").touch()
    data = Mount("/tmp/data", "ro-bind", str(bench.folder))  # everything, by another path
    said = await bench.shell(f"ls -A {bench.folder} 2>&1 || true; ls /tmp", data)
    assert "key" not in said
    assert "data" in said.splitlines()


async def test_nobody_gains_privileges_inside(bench: Workbench) -> None:
    said = await bench.shell("grep -E 'NoNewPrivs|CapEff|CapPrm' /proc/self/status; ls /dev")
    fields = dict(line.split(":\t") for line in said.splitlines() if ":\t" in line)
    dangerous = 1 << 21 | 1 << 12 | 1 << 27 | 1 << 16  # sys_admin, net_admin, mknod, sys_module
    assert fields["NoNewPrivs"] == "1"
    assert not int(fields["CapEff"], 16) & dangerous
    assert not int(fields["CapPrm"], 16) & dangerous
    assert "kmsg" not in said


@pytest.mark.parametrize(("user", "group", "seen"), [(1234, None, "1234:"), (1234, 567, "1234:567")])
async def test_a_container_may_run_as_another_user(
    bench: Workbench, user: int, group: int | None, seen: str
) -> None:
    data = bench.folder / "data"
    data.mkdir()
    data.chmod(0o777)
    script = "echo $(id -u):$(id -g); touch /data/made; touch /tmp/made"
    said = await bench.shell(script, Mount("/data", "bind", str(data)), user=user, group=group)
    assert said.startswith(seen)
    owner = os.stat(data / "made").st_uid
    assert owner == (user if os.geteuid() == 0 else os.geteuid())


async def test_devices_of_the_host_are_shown_when_asked_for(bench: Workbench) -> None:
    device = next(
        path for path in map(Path, ("/dev/fuse", "/dev/kmsg", "/dev/rtc0", "/dev/ptmx")) if path.exists()
    )
    assert await bench.shell(f"ls {device} 2>/dev/null || echo none") in ("none", "/dev/ptmx")
    said = await bench.shell(f"test -c {device} && echo there", devices=(str(device), "/dev/nvidia77"))
    assert said == "there"
    assert stat.S_ISCHR(device.stat().st_mode)


async def test_what_a_container_leaves_in_the_background_ends_with_it(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "sh", "-c", "setsid sleep 54321 & echo $!; exit 0")
    started = await bench.start(plan)
    await bench.end(plan)
    assert not exists(f"/proc/{started.pid}")
    assert not processes_naming("sleep 54321")


async def test_an_unpacked_root_folder_takes_the_place_of_the_hosts(bench: Workbench) -> None:
    root = bench.folder / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "motto").write_text("another system")
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    usr = Mount("/usr", "ro-bind", "/usr")
    said = await bench.shell(
        "cat /etc/motto; test -e /etc/passwd || echo; touch /etc/x; ls /", usr, root=str(root)
    )
    assert said.splitlines()[0] == "another system"
    assert "home" not in said.splitlines()
    assert not (root / "etc" / "x").exists()


async def test_a_container_that_was_killed_can_be_started_again(bench: Workbench) -> None:
    pod = await bench.pod()
    for attempt in range(3):
        plan = bench.container(pod, "sleep", "1000", attempt=attempt)
        await bench.start(plan)
        await bench.engine.signal(pod.uid, "main", 9, everyone=True)
        assert (await bench.end(plan)).code == 137
    assert [one.attempt for one in await bench.engine.adopt()] == [0, 1, 2]


@pytest.mark.parametrize("host_pid", [False, True])
async def test_settings_of_the_machine_can_be_read_but_not_written(bench: Workbench, host_pid: bool) -> None:
    script = """
        for name in vm/swappiness kernel/core_pattern net/ipv4/ip_forward kernel/hostname; do
            value=$(cat /proc/sys/$name)
            (echo "$value" > /proc/sys/$name) 2>/dev/null && echo "wrote $name"
        done
        (echo > /proc/sysrq-trigger) 2>/dev/null && echo "wrote sysrq-trigger"
        cat /proc/sys/kernel/hostname
        test -e /proc/sys/net/ipv4/conf/lo
    """
    pod = await bench.pod("reader", host_pid=host_pid)
    assert await bench.said(bench.container(pod, "sh", "-c", script)) == "reader"


async def test_a_container_may_still_be_the_first_to_go_when_memory_is_short(bench: Workbench) -> None:
    assert await bench.shell("echo 900 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj") == "900"


@pytest.mark.parametrize("limits", [Limits(), Limits(pids=100)], ids=["spawned", "forked"])
async def test_programs_find_signals_as_they_expect_them(bench: Workbench, limits: Limits) -> None:
    script = "grep SigIgn /proc/self/status; trap '' PIPE; grep SigIgn /proc/self/status"
    plan = bench.container(await bench.pod(), "sh", "-c", script)
    said = await bench.said(replace(plan, limits=limits))
    ignored = [
        int(line.split()[1], 16) & 0x7FFFFFFF for line in said.splitlines()
    ]  # but for the C library's own
    assert ignored == [0, 1 << (signal.SIGPIPE - 1)]
