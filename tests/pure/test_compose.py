from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from trainshed.cli.plane import Plane
from trainshed.compose import (
    capabilities,
    datafolder,
    interrupts,
    lifecycle,
    listening,
    machine,
    packages,
    processes,
    serverprocess,
    statefile,
    trouble,
    turns,
)
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.listening import Listen
from trainshed.compose.processes import Process
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import Trouble


@pytest.mark.parametrize(
    ("chosen", "environment", "root"),
    [
        (Path("/chosen"), {"TRAINSHED_HOME": "/env", "HOME": "/home/me"}, "/chosen"),
        (None, {"TRAINSHED_HOME": "/env", "HOME": "/home/me"}, "/env"),
        (None, {"XDG_DATA_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/trainshed"),
        (None, {"XDG_DATA_HOME": "relative", "HOME": "/home/me"}, "/home/me/.local/share/trainshed"),
        (None, {"HOME": "/home/me"}, "/home/me/.local/share/trainshed"),
    ],
)
def test_the_data_folder_is_chosen_by_option_variable_and_convention(
    chosen: Path | None, environment: dict[str, str], root: str
) -> None:
    assert datafolder.locate(chosen, environment).root == Path(root)


def test_a_relative_folder_means_the_one_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert datafolder.locate(Path("data"), {"HOME": "/home/me"}).root == tmp_path / "data"


def test_a_new_data_folder_is_private(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "a" / "data", tmp_path / "cache")
    folder.make()
    assert folder.root.stat().st_mode & 0o777 == 0o700


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(Trouble, match="is not a folder"):
        DataFolder(tmp_path / "data", tmp_path).make()


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space left"),
        (errno.EROFS, "cannot write"),
        (errno.EACCES, "cannot write"),
        (errno.EISDIR, "/x is a folder"),
        (errno.EIO, "cannot use"),
    ],
)
def test_refusals_of_the_system_become_one_line_with_a_hint(number: int, message: str) -> None:
    found = trouble.from_os(OSError(number, os.strerror(number)), Path("/x"))
    assert found.message.startswith(message)
    assert found.hint
    assert found.code == 3


def test_a_read_only_disk_is_told_from_a_missing_right() -> None:
    read_only = trouble.from_os(OSError(errno.EROFS, os.strerror(errno.EROFS)), Path("/x"))
    assert "mounted read-only" in read_only.hint
    assert "owner" not in read_only.hint


def refusal_to_listen(number: int, host: str, port: int) -> Trouble:
    error = RuntimeError(f"cannot listen on {host}:{port}")
    error.__cause__ = OSError(number, os.strerror(number))
    return serverprocess.cannot_listen(error, host, port)


def test_a_refused_address_says_what_would_be_allowed() -> None:
    assert "below 1024" in refusal_to_listen(errno.EACCES, "127.0.0.1", 80).hint
    assert "address of this machine" in refusal_to_listen(errno.EADDRNOTAVAIL, "192.0.2.1", 6443).hint
    with a_listener() as port:
        taken = refusal_to_listen(errno.EADDRINUSE, "127.0.0.1", port)
    assert f"(process {os.getpid()})" in taken.message
    assert "--port 0" in taken.hint


@contextmanager
def a_listener() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_doctor_tells_our_port_from_others(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, tmp_path)
    with a_listener() as port:
        taken = machine.default_port(folder, port)
        assert (taken.state, f"(process {os.getpid()})" in taken.found) == ("limited", True)
        statefile.write(folder.state, replace(a_state(processes.this()), port=port))
        assert machine.default_port(folder, port).found == f"ours (process {os.getpid()})"
    assert machine.default_port(DataFolder(tmp_path / "other", tmp_path), port).found == "free"


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("0", "0.0.0.0"),
        ("0.0.0.0", "0.0.0.0"),
        ("::ffff:0.0.0.0", "0.0.0.0"),
        ("0:0::0", "::"),
        ("[::]", "::"),
        ("127.1", "127.0.0.1"),
        ("localhost", "localhost"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ],
)
def test_an_address_has_one_spelling(text: str, host: str) -> None:
    assert listening.host(text) == host


@pytest.mark.parametrize("text", ["", " ", "0 x", "a b", "\t", "." * 300, "a" * 64])
def test_what_is_neither_address_nor_name_is_wrong_usage(text: str) -> None:
    with pytest.raises(Trouble, match="--bind") as refused:
        listening.host(text)
    assert refused.value.code == trouble.WRONG_USAGE


def test_only_what_was_asked_for_can_differ() -> None:
    assert not Listen().differs_from("0.0.0.0", 7000)
    assert not Listen("0.0.0.0", 0).differs_from("0.0.0.0", 7000)
    assert Listen(port=7001).differs_from("0.0.0.0", 7000)
    assert Listen(host="127.0.0.1").differs_from("0.0.0.0", 7000)
    assert Listen().address == ("127.0.0.1", 6443)


def test_a_server_comes_back_where_it_was(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    with a_listener() as port:
        taken = port
        former = replace(a_state(processes.this()), host="127.0.0.1", port=port)
        assert Listen(port=0).preferring(former, config) == ("127.0.0.1", 0), "somebody else has it now"
    config.write_text(f"clusters:\n- cluster:\n    server: https://127.0.0.1:{taken}\n  name: x\n")
    assert Listen(port=0).preferring(None, config) == ("127.0.0.1", taken)
    assert Listen().preferring(None, config) == ("127.0.0.1", taken)
    assert Listen("0.0.0.0", 7000).preferring(former, config) == ("0.0.0.0", 7000)
    assert Listen().preferring(None, tmp_path / "none") == ("127.0.0.1", 6443)


def test_a_signal_noted_is_raised_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.noted():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(SystemExit, match="143"), interrupts.noted():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_turn_that_does_not_come_is_told(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, tmp_path)
    with turns.taken(folder, 1, make=True), pytest.raises(Trouble, match="busy"), turns.taken(folder, 0.05):
        pass
    with turns.taken(folder, 0):
        folder.lock.unlink()
        with turns.taken(folder, 0, make=True) as anew:
            assert anew is not None, "a folder made anew has turns of its own"


def test_nobody_ever_started_anything_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with turns.taken(DataFolder(tmp_path / "none", tmp_path), 0) as turn:
        assert turn is None


def test_a_trouble_survives_the_way_to_another_process() -> None:
    read = trouble.read(Trouble("a", "b", 1).written())
    assert (read.message, read.hint, read.code) == ("a", "b", 1)
    with pytest.raises(ValueError, match="Expecting value"):
        trouble.read("")


def a_state(process: Process) -> ServerState:
    return ServerState(process, "https://127.0.0.1:1", "127.0.0.1", 1, "0", "2026-01-01T00:00:00Z")


def test_a_note_of_a_living_process_counts(tmp_path: Path) -> None:
    note = tmp_path / "server.json"
    statefile.write(note, a_state(processes.this()))
    assert statefile.running(note) == a_state(processes.this())
    statefile.remove(note, Process(1, "another"))
    assert note.exists(), "somebody else's note stays"
    statefile.remove(note, processes.this())
    assert not note.exists()


def test_a_note_whose_pid_was_reused_is_stale(tmp_path: Path) -> None:
    note = tmp_path / "server.json"
    statefile.write(note, a_state(Process(os.getpid(), "before the flood")))
    assert statefile.running(note) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"process": {"pid": "x"}}', '{"process": 1}'])
def test_a_damaged_note_counts_as_none(tmp_path: Path, text: str) -> None:
    note = tmp_path / "server.json"
    note.write_text(text)
    assert statefile.running(note) is None


def a_child(code: str) -> tuple[subprocess.Popen[bytes], Process]:
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child, Process(child.pid, processes.birth(child.pid) or "")


def test_a_process_that_listens_to_sigterm_is_stopped() -> None:
    child, process = a_child("import signal; print('ready', flush=True); signal.pause()")
    with child:
        assert processes.stop(process, 10) == "stopped"
        assert child.wait(10) == -signal.SIGTERM
    assert not process.is_alive
    assert processes.stop(process, 10) == "gone"


def test_a_process_deaf_to_sigterm_is_killed() -> None:
    deaf = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); signal.sigwait([2])"
    child, process = a_child(deaf)
    with child:
        assert processes.stop(process, 0.1) == "killed"
        assert child.wait(10) == -signal.SIGKILL


def test_a_later_process_with_the_same_pid_is_never_signalled() -> None:
    child, process = a_child("import signal; print('ready', flush=True); signal.pause()")
    with child:
        assert processes.stop(Process(process.pid, "another"), 1) == "gone"
        assert process.is_alive
        child.kill()


def test_an_ended_child_nobody_waited_for_is_not_alive() -> None:
    child, process = a_child("print('ready')")
    with child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not process.is_alive


def test_every_finding_that_is_not_ok_says_what_it_means(tmp_path: Path) -> None:
    findings = machine.examine(DataFolder(tmp_path / "data", tmp_path))
    assert {finding.name for finding in findings} >= {
        "bubblewrap",
        "cgroups",
        "gpus",
        "kubectl",
        "user namespaces",
    }
    assert all(finding.meaning for finding in findings if finding.state != "ok")
    json.dumps([finding.body() for finding in findings])
    assert machine.is_healthy(findings)
    assert not (tmp_path / "data").exists(), "looking changes nothing"


def test_control_groups_are_recognised(tmp_path: Path) -> None:
    assert capabilities.cgroups(tmp_path) == (0, [])
    (tmp_path / "memory").mkdir()
    assert capabilities.cgroups(tmp_path) == (1, ["memory"])
    (tmp_path / "cgroup.controllers").write_text("cpu memory io\n")
    assert capabilities.cgroups(tmp_path)[0] == 2


ALL = ["cpu", "memory", "pids"]


@pytest.mark.parametrize(
    ("version", "ours", "is_root", "state", "fix"),
    [
        (1, ALL, True, "ok", ""),
        (2, ALL, False, "ok", ""),
        (0, [], True, "missing", "mount -t cgroup2"),
        (1, [], True, "limited", "writable /sys/fs/cgroup"),
        (1, [], False, "limited", "run as root"),
        (2, [], False, "limited", "systemd-run --user --scope -p Delegate=yes trainshed up"),
        (2, ["memory", "pids"], False, "limited", "Delegate=memory cpu pids"),
        (2, ["cpu", "pids"], True, "limited", 'echo "+memory"'),
        (1, ["cpu", "pids"], True, "limited", "cgroup_enable=memory"),
    ],
)
def test_doctor_says_which_limits_hold_and_how_to_get_the_others(
    version: int, ours: list[str], is_root: bool, state: str, fix: str
) -> None:
    found = machine.judge_cgroups(version, ours, is_root=is_root)
    assert found.state == state
    assert fix in found.fix
    missing = [name for name in ("memory", "cpu", "pids") if name not in ours]
    assert all(name in found.meaning for name in missing)


def test_doctor_says_which_frameworks_are_not_here_and_how_to_get_them() -> None:
    found = ["torch 2.6", "xgboost-cpu 3.0", "mpi4py 4.0", "paddlepaddle 3.3"]
    missing = packages.missing_extras(found, mpirun=lambda: False)
    assert missing == ["tensorflow", "jax", "mpi"]
    assert packages.missing_extras(found, mpirun=lambda: True) == ["tensorflow", "jax"]
    told = machine.judge_frameworks(found, missing, "/v/python")
    assert told.state == "ok"
    assert told.found.endswith(
        "; not here: tensorflow, jax, mpi (/v/python -m pip install 'trainshed[tensorflow,jax,mpi]')"
    )
    assert (
        machine.judge_frameworks(found, [], "/v/python").found
        == "torch 2.6, xgboost-cpu 3.0, mpi4py 4.0, paddlepaddle 3.3"
    )
    nothing = machine.judge_frameworks([], packages.missing_extras([], mpirun=lambda: True), "/v/python")
    assert (nothing.state, nothing.fix) == (
        "limited",
        "/v/python -m pip install 'trainshed[torch,tensorflow,jax,xgboost,mpi,paddle]'",
    )


def test_each_extra_for_pip_is_one_of_ours() -> None:
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(packages.EXTRAS) == set(declared["optional-dependencies"])


def test_what_ended_as_told_is_stopped_and_what_left_its_note_is_not(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, tmp_path)
    assert lifecycle.is_stopped(folder)
    assert lifecycle.is_stopped(DataFolder(tmp_path / "gone", tmp_path))
    folder.state.write_text("")
    assert not lifecycle.is_stopped(folder)


@pytest.mark.parametrize("name", ["x" * 300, "loop"])
def test_of_a_folder_that_cannot_be_looked_into_nothing_is_known_to_be_stopped(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    plane = Plane(DataFolder(tmp_path / name, tmp_path))
    assert not plane.is_stopped
    assert not plane.is_stopping


def test_a_lock_that_cannot_be_read_says_of_no_stop(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, tmp_path)
    folder.state.write_text("")
    folder.lock.mkdir()
    with pytest.raises(Trouble):
        turns.is_taken(folder)
    assert not Plane(folder).is_stopping
