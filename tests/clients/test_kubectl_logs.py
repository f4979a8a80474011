"""kubectl logs in all its forms, on pods that run, restart and end."""

from __future__ import annotations

import shlex
import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.clients.console import Console
from tests.server.wire import Wire
from tests.standin import Node
from trainshed.kube.objects import Object
from trainshed.runner.logs import lines
from trainshed.runner.logs.files import Place

ENDED = {"terminated": {"exitCode": 0}}


def printing(script: str) -> list[str]:
    return ["sh", "-c", script]


@pytest.fixture
def done(node: Node, wire: Wire, console: Console) -> Object:
    """A pod whose only container has printed ten lines and ended."""
    pod = node.pod(
        wire, console.namespace, "done", main=printing("for i in 0 1 2 3 4 5 6 7 8 9; do echo $i; done")
    )
    node.wait(node.container(pod, "main"))
    return node.tell(wire, pod, {"main": dict(ENDED)}, "Succeeded")


class TestLogs:
    def test_of_a_pod_that_just_ended(self, console: Console, done: Object) -> None:
        assert console.says("kubectl logs done") == "".join(f"{number}\n" for number in range(10))
        assert console.says("kubectl logs -f done --tail=1") == "9\n"

    def test_tails_and_limits(self, console: Console, done: Object) -> None:
        console.plays(r"""
            $ kubectl logs done --tail=3
            7
            8
            9
            $ kubectl logs done --tail=0
            $ kubectl logs done --limit-bytes=3
            0
            1
        """)

    def test_timestamps_have_nanoseconds(self, console: Console, done: Object) -> None:
        stamp, text = console.says("kubectl logs done --timestamps --tail=1").split()
        assert text == "9"
        assert len(stamp) == len("2026-11-15T00:00:00.000000000Z")

    def test_since_a_moment(self, node: Node, wire: Wire, console: Console) -> None:
        pod = node.pod(wire, console.namespace, "old", main=["true"])
        node.wait(node.container(pod, "main"))
        meta, now = pod["metadata"], datetime.now(UTC)
        place = Place(node.machine.root, meta["namespace"], "old", meta["uid"], "main")
        moments = [now - timedelta(hours=3), now - timedelta(minutes=30), now - timedelta(seconds=1)]
        place.run(0).write_bytes(
            b"".join(lines.stamp(at) + b" stdout F %d\n" % number for number, at in enumerate(moments))
        )
        assert console.says("kubectl logs old --since=1h") == "1\n2\n"
        assert console.says("kubectl logs old --since=1m") == "2\n"
        middle = (now - timedelta(hours=1)).isoformat(timespec="seconds").replace("+00:00", "Z")
        assert console.says(f"kubectl logs old --since-time={middle}") == "1\n2\n"

    def test_both_outputs_are_in_the_log(self, node: Node, wire: Wire, console: Console) -> None:
        pod = node.pod(wire, console.namespace, "both", main=printing("echo out; echo err >&2; printf end"))
        node.wait(node.container(pod, "main"))
        said = console.says("kubectl logs both")
        assert sorted(said.split()) == ["end", "err", "out"]

    def test_of_several_containers(self, node: Node, wire: Wire, console: Console) -> None:
        pod = node.pod(wire, console.namespace, "two", a=printing("echo from a"), b=printing("echo from b"))
        for name in ("a", "b"):
            node.wait(node.container(pod, name))
        console.plays(r"""
            $ kubectl logs two -c b
            from b
        """)
        # kubectl asks for the containers in no order of its own.
        assert sorted(console.says("kubectl logs two --all-containers --prefix").split("\n")) == [
            "", "[pod/two/a] from a", "[pod/two/b] from b",
        ]  # fmt: skip
        assert sorted(console.says("kubectl logs -l app=two --all-containers").split("\n")) == [
            "", "from a", "from b",
        ]  # fmt: skip

    def test_of_the_run_before(self, node: Node, wire: Wire, console: Console) -> None:
        pod = node.pod(wire, console.namespace, "again", main=printing("echo first; exit 1"))
        node.wait(node.container(pod, "main"))
        console.plays(r"""
            ! kubectl logs again --previous
            Error from server (BadRequest): previous terminated container "main" in pod "again" not found
        """)
        node.wait(node.start(pod, "main", printing("echo second"), attempt=1))
        failed = {"terminated": {"exitCode": 1}}
        node.tell(wire, pod, {"main": {"running": {}, "last": failed}})
        assert console.says("kubectl logs again --previous") == "first\n"
        assert console.says("kubectl logs again") == "second\n"

    def test_of_a_container_that_has_not_started(self, node: Node, wire: Wire, console: Console) -> None:
        pod = node.pod(wire, console.namespace, "early", main=["true"])
        node.tell(wire, pod, {"main": {"waiting": {"reason": "ContainerCreating"}}}, "Pending")
        console.plays(r"""
            ! kubectl logs early
            Error from server (BadRequest): container "main" in pod "early" is waiting to start: \
            ContainerCreating
        """)


class TestFollowing:
    def test_shows_lines_as_they_come_and_ends_with_the_container(
        self, node: Node, wire: Wire, console: Console
    ) -> None:
        gate = console.folder / "gate"
        script = f"echo one; while [ ! -e {shlex.quote(str(gate))} ]; do sleep 0.02; done; echo two"
        pod = node.pod(wire, console.namespace, "slow", main=printing(script))
        with console.watching("kubectl logs -f slow") as follower:
            follower.shows("one")
            gate.touch()
            follower.shows("one", "two")
        assert console.says("kubectl logs -f slow") == "one\ntwo\n"
        node.wait(node.container(pod, "main"))

    def test_begins_at_the_tail(self, node: Node, wire: Wire, console: Console) -> None:
        gate = console.folder / "gate"
        script = f"seq 1000; touch {gate}.ready; while [ ! -e {gate} ]; do sleep 0.02; done; echo end"
        node.pod(wire, console.namespace, "tail", main=printing(script))
        deadline = time.monotonic() + 20
        while console.run("kubectl logs tail --tail=1").stdout != "1000\n":
            assert time.monotonic() < deadline
        with console.watching("kubectl logs -f tail --tail=2") as follower:
            follower.shows("999", "1000")
            gate.touch()
            follower.shows("999", "1000", "end")

    def test_a_flood_arrives_whole(self, node: Node, wire: Wire, console: Console) -> None:
        pod = node.pod(wire, console.namespace, "flood", main=printing("sleep 0.2; seq 50000"))
        said = console.says("kubectl logs -f flood")
        assert said == "".join(f"{number}\n" for number in range(1, 50_001))
        node.wait(node.container(pod, "main"))
