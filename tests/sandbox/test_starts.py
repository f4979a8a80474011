"""Containers that cannot be started say why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sandbox.workbench import Workbench, read
from trainshed.runner.engine import CannotStart
from trainshed.runner.plan import Mount
from trainshed.runner.sandbox.launch import joined


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("no-such-program",), r'exec: "no-such-program": executable file not found in \$PATH'),
        (("/no/such/file",), 'exec: "/no/such/file": no such file or directory'),
        (("./here",), 'exec: "./here": no such file or directory'),
        (("/etc",), 'exec: "/etc": is a directory'),
        (("/etc/passwd",), 'exec: "/etc/passwd": permission denied'),
        (("/data/script",), 'exec: "/data/script": its interpreter /no/python does not exist'),
        (("/data/strange",), "cannot start the container: execvp /data/strange: No such file or directory"),
        ((), "no command specified"),
    ],
)
async def test_a_command_that_cannot_be_run_is_refused_in_words(
    bench: Workbench, argv: tuple[str, ...], words: str
) -> None:
    data = bench.folder / "data"
    data.mkdir()
    strange = read("/bin/true").replace(b"/ld-linux", b"/no-linux")  # a loader nobody has
    for name, text in (("script", b"#!/no/python\n"), ("strange", strange)):
        (data / name).write_bytes(text)
        (data / name).chmod(0o755)
    plan = bench.container(await bench.pod(), *argv)
    with pytest.raises(CannotStart, match=words) as refused:
        await bench.start(replace(plan, mounts=(Mount("/data", "ro-bind", str(data)),)))
    assert refused.value.reason == "StartError"
    assert await bench.engine.adopt() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"env": (("A", "x\0--ro-bind\0/etc\0/mnt"),)}, "the environment variable A contains a NUL byte"),
        ({"env": (("A\0B", "x"),)}, "an environment variable's name contains a NUL byte"),
        ({"argv": ("true", "\0")}, "an argument of the command contains"),
        ({"workdir": "/\0"}, "the working directory contains"),
        ({"mounts": (Mount("/d\0", "tmpfs"),)}, "a mount's target contains"),
        ({"mounts": (Mount("/d", "bind", "/\0"),)}, "a mount's source contains"),
        ({"termination_path": "/dev/\0"}, "the termination message path contains"),
        ({"name": "a\0b"}, "the container's name contains"),
    ],
)
async def test_words_that_would_become_several_are_refused(
    bench: Workbench, change: dict[str, object], words: str
) -> None:
    pod = await bench.pod()
    with pytest.raises(CannotStart, match=words) as refused:
        await bench.start(replace(bench.container(pod, "true"), **change))  # type: ignore[arg-type]
    assert refused.value.reason == "StartError"
    assert await bench.said(bench.container(pod, "echo", "well")) == "well"


async def test_a_pod_whose_name_contains_a_nul_byte_harms_no_other(bench: Workbench) -> None:
    pod = await bench.pod()
    with pytest.raises(OSError, match="null"):
        await bench.engine.open_pod(replace(pod, uid="a\0b"))
    with pytest.raises(CannotStart, match="the hostname contains"):
        await bench.start(bench.container(replace(pod, hostname="a\0b"), "true"))
    assert await bench.said(bench.container(pod, "echo", "well")) == "well"


def test_no_word_for_bubblewrap_is_split() -> None:
    assert joined(["--a", "b"]) == b"--a\0b\0"
    with pytest.raises(ValueError, match="NUL"):
        joined(["--a", "b\0--c"])


async def test_a_working_directory_that_is_a_file_is_refused(bench: Workbench) -> None:
    plan = replace(bench.container(await bench.pod(), "true"), workdir="/etc/passwd")
    with pytest.raises(CannotStart, match="working directory /etc/passwd cannot be used"):
        await bench.start(plan)


async def test_a_volume_that_does_not_exist_is_refused(bench: Workbench) -> None:
    plan = replace(bench.container(await bench.pod(), "true"), mounts=(Mount("/d", "bind", "/no/folder"),))
    with pytest.raises(CannotStart, match=r"/no/folder \(for /d\) does not exist") as refused:
        await bench.start(plan)
    assert refused.value.reason == "CreateContainerError"


async def test_a_root_folder_that_does_not_exist_is_refused(bench: Workbench) -> None:
    plan = replace(bench.container(await bench.pod(), "true"), root="/no/root")
    with pytest.raises(CannotStart, match="root folder /no/root does not exist"):
        await bench.start(plan)


async def test_after_a_refusal_the_same_attempt_can_be_made(bench: Workbench) -> None:
    pod = await bench.pod()
    with pytest.raises(CannotStart):
        await bench.start(bench.container(pod, "no-such-program"))
    assert await bench.said(bench.container(pod, "echo", "now")) == "now"
