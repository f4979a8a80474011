"""kubectl looking into pods of a whole Trainshed, by either way pods are run here."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests import whole
from tests.whole import Whole
from trainshed.kube.objects import Object
from trainshed.runner.logs import kept

SECONDS = 30.0


@pytest.fixture(scope="module")
def port() -> int:
    """A free one: plain processes have those of the host, where other tests run as well."""
    with socket.create_server(("", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module", params=["sandbox", "process"])
def plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, port: int
) -> Iterator[Whole]:
    with whole.running(tmp_path_factory.mktemp("plane"), "--runner", request.param) as plane:
        plane.apply(a_pod("web", "cd /tmp; echo content >file; exec python -m http.server " + str(port)))
        plane.kubectl("wait", "--for=condition=Ready", "pod/web", f"--timeout={SECONDS}s")
        yield plane


def a_pod(name: str, script: str, **spec: object) -> Object:
    container = {"name": "main", "image": "any", "command": ["sh", "-c", script]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


def until(plane: Whole, *words: str, says: str) -> None:
    """Ask kubectl until it says so."""
    deadline = time.monotonic() + SECONDS
    while plane.run("kubectl", *words).out.strip() != says:
        assert time.monotonic() < deadline, plane.run("kubectl", *words)


A_RUN = ("kubectl", "run", "--image=any", "--restart=Never")


def controls_jobs(typed: Terminal) -> None:
    """A shell at a terminal of its own: what runs in front is interrupted or stopped, and nothing else."""
    typed.types("sh -c 'echo fir''st; exec sleep 1000'\n")
    typed.sees(r"first\r\n")
    typed.types("\x03")
    typed.types('echo "was "$?\n')
    typed.sees(r"was 130")
    typed.types("sh -c 'echo sec''ond; exec sleep 1001'\n")
    typed.sees(r"second\r\n")
    typed.types("\x1a")
    typed.sees(r"Stopped")
    typed.types("kill -9 %1; exec true\n")
    typed.ends()
    assert not re.search(rb"job control|process group", typed.all)


class TestExec:
    def test_has_the_containers_files_and_its_exit_code(self, plane: Whole) -> None:
        ran = plane.run("kubectl", "exec", "web", "--", "sh", "-c", "hostname; pwd >&2; exit 5")
        assert (ran.code, len(ran.out.split())) == (5, 1)
        assert ran.err.endswith("command terminated with exit code 5\n")

    def test_takes_input_to_its_end(self, plane: Whole) -> None:
        text = "".join(f"line {number}\n" for number in range(50_000))
        ran = plane.run("kubectl", "exec", "-i", "web", "--", "cat", stdin=text)
        assert ran.out == text

    def test_says_what_cannot_be_run(self, plane: Whole) -> None:
        ran = plane.run("kubectl", "exec", "web", "--", "nosuch")
        assert ran.code == 1
        assert 'error executing command in container: exec: "nosuch": ' in ran.err

    def test_copies_files_there_and_back(self, plane: Whole) -> None:
        payload = os.urandom(3_000_000)
        (plane.folder / "there").write_bytes(payload)
        place = plane.kubectl("exec", "web", "--", "mktemp", "-d").strip()
        plane.kubectl("cp", "there", f"web:{place}/there")
        plane.kubectl("cp", f"web:{place}/there", "back")
        assert (plane.folder / "back").read_bytes() == payload

    def test_gives_a_terminal(self, plane: Whole) -> None:
        with terminal(plane, "kubectl", "exec", "-it", "web", "--", "sh") as typed:
            typed.types("stty size; tty\n")
            typed.sees(r"24 80\r\n/dev/pts/")
            typed.types("exit 3\n")
            assert typed.ends() == 3

    def test_a_shell_controls_its_jobs(self, plane: Whole) -> None:
        with terminal(plane, "kubectl", "exec", "-it", "web", "--", "sh") as typed:
            controls_jobs(typed)


class TestPortForward:
    def test_leads_into_the_pod(self, plane: Whole, port: int) -> None:
        process = subprocess.Popen(
            ["kubectl", "port-forward", "pod/web", f":{port}"],
            env=plane.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) ", process.stdout.readline())
            assert found is not None
            page = plane.run("curl", "-s", "--max-time", "20", f"http://127.0.0.1:{found[1]}/")
            assert "Directory listing" in page.out
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)


class TestAttach:
    def test_run_with_a_terminal_is_a_shell_in_a_pod(self, plane: Whole) -> None:
        command = (
            "kubectl",
            "run",
            "-it",
            "shell",
            "--image=any",
            "--restart=Never",
            "--command",
            "--",
            "bash",
        )
        with terminal(plane, *command) as typed:
            typed.sees(r"[#$] ")
            typed.types("echo $((6 * 7))\n")
            typed.sees(r"\n42\r\n")
            typed.types("exit\n")
            assert typed.ends() == 0

    def test_a_container_with_a_terminal_controls_its_jobs_and_knows_its_size(self, plane: Whole) -> None:
        with terminal(plane, *A_RUN, "-it", "sh-pod", "--command", "--", "sh") as typed:
            typed.types('until [ "$(stty size)" = "24 80" ]; do sleep 0.1; done; echo si""zed\n')
            typed.sees(r"sized")
            typed.resizes(33, 99)
            typed.types('until [ "$(stty size)" = "33 99" ]; do sleep 0.1; done; echo resi""zed\n')
            typed.sees(r"resized")
            controls_jobs(typed)

    def test_an_input_that_is_given_once_ends_with_its_giver(self, plane: Whole) -> None:
        command = (*A_RUN, "-i", "reader", "--command", "--", "sh", "-c", "sleep 1; cat; echo end of input")
        ran = plane.run(*command, stdin="one\ntwo\n")
        assert ran.code == 0, ran
        until(plane, "get", "pod", "reader", "-o", "jsonpath={.status.phase}", says="Succeeded")
        assert plane.kubectl("logs", "reader") == "one\ntwo\nend of input\n"


class TestLogs:
    def test_are_followed_to_the_containers_end(self, plane: Whole) -> None:
        plane.apply(a_pod("count", "for i in 1 2 3; do echo $i; sleep 0.2; done; echo bad >&2"))
        until(plane, "get", "pod", "count", "-o", "jsonpath={.status.phase}", says="Running")
        assert plane.kubectl("logs", "-f", "count") == "1\n2\n3\nbad\n"
        assert plane.kubectl("logs", "count", "--tail=1") == "bad\n"

    def test_go_on_after_the_agent_was_killed(self, plane: Whole) -> None:
        plane.apply(a_pod("steady", "i=0; while true; do echo $i; i=$((i+1)); sleep 0.05; done"))
        until(plane, "get", "pod", "steady", "-o", "jsonpath={.status.phase}", says="Running")
        command = ["kubectl", "logs", "-f", "steady"]
        with subprocess.Popen(command, env=plane.environment, stdout=subprocess.PIPE, text=True) as follower:
            assert follower.stdout is not None
            try:
                seen = [follower.stdout.readline()]
                os.kill(plane.pids()["agent"], signal.SIGKILL)
                plane.up()
                before = len(plane.kubectl("logs", "steady").split())
                seen += [follower.stdout.readline() for _ in range(before + 20)]
                plane.kubectl("delete", "pod", "steady", "--grace-period=1")
                seen += follower.stdout.readlines()
            finally:
                follower.terminate()
        assert seen == [f"{number}\n" for number in range(len(seen))]

    def test_of_the_run_before_are_there_after_a_restart(self, plane: Whole) -> None:
        script = "if [ -e /keep/been ]; then echo second; sleep 300; fi; touch /keep/been; echo first; exit 1"
        pod = a_pod("again", script, restartPolicy="Always", volumes=[{"name": "keep", "emptyDir": {}}])
        pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "keep", "mountPath": "/keep"}]
        plane.apply(pod)
        until(plane, "logs", "again", says="second")
        assert plane.kubectl("logs", "again", "--previous") == "first\n"

    def test_of_a_deleted_pod_are_kept_with_a_note(self, plane: Whole) -> None:
        pod = a_pod("gone", "echo last words")
        pod["metadata"]["labels"] = {
            "jobset.sigs.k8s.io/jobset-name": "bert",
            "batch.kubernetes.io/job-completion-index": "1",
        }
        plane.apply(pod)
        until(plane, "get", "pod", "gone", "-o", "jsonpath={.status.phase}", says="Succeeded")
        plane.kubectl("delete", "pod", "gone")
        [found] = kept.find(plane.data / "logs", "default", "bert", rank=1)
        assert (found.note.name, found.containers(), found.attempts("main")) == ("gone", ["main"], [0])
        assert found.run("main", 0).read_bytes().endswith(b" stdout F last words\n")


class Terminal:
    """A terminal with a person: what they type, and what they wait to see."""

    def __init__(self, ours: int, process: subprocess.Popen[bytes]) -> None:
        self._ours, self._process = ours, process
        self._seen = self.all = b""

    def resizes(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._ours, (rows, columns))
        self._process.send_signal(signal.SIGWINCH)

    def types(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def sees(self, pattern: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not re.search(pattern.encode(), self._seen):
            ready, _, _ = select.select([self._ours], [], [], deadline - time.monotonic())
            assert ready, f"{pattern!r} does not come, only {self._seen!r}"
            self._seen += self._read()
        self._seen = b""

    def ends(self) -> int:
        while self._read():
            pass
        return self._process.wait(SECONDS)

    def _read(self) -> bytes:
        with suppress(OSError):  # how a terminal ends
            piece = os.read(self._ours, 4096)
            self.all += piece
            return piece
        return b""


@contextmanager
def terminal(plane: Whole, *words: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "rows", "24", "cols", "80"], stdin=theirs, check=True)
    process = subprocess.Popen(words, env=plane.environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait(SECONDS)
        os.close(ours)
