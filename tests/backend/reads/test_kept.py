"""Beside its own node agent the backend reads what that keeps: nothing is too quick for it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tests import whole
from tests.backend import service
from tests.backend.reads import sse
from tests.backend.reads.test_reading import recorded
from tests.jobs.builders import a_runtime, a_shell
from tests.whole import Whole
from trainshed.kube.objects import Object


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A Trainshed with its own backend."""
    with whole.running(tmp_path_factory.mktemp("beside"), "--relax", "--backend") as found:
        runtime = a_runtime("thrice", {"maxRestarts": 2}, backoffLimit=0, pod={"restartPolicy": "Never"})
        found.apply(runtime)
        yield found


@pytest.fixture
def rest(beside: Whole) -> Iterator[httpx.Client]:
    status = json.loads(beside.trainshed("status", "-o", "json").out)
    headers = {"Authorization": f"Bearer {service.admin_token(beside.cluster)}"}
    with httpx.Client(
        base_url=status["backend"]["url"], headers=headers, timeout=60, trust_env=False
    ) as client:
        yield client


def test_lines_of_attempts_that_ended_at_once_are_all_there(beside: Whole, rest: httpx.Client) -> None:
    beside.apply(a_shell("hasty", "echo out of luck; exit 9", runtime="thrice", nodes=2))
    beside.finish("hasty", "Failed")
    follower = sse.lines_of(rest, "hasty")
    assert follower.to_the_end()["state"] == "Failed"
    told = [
        (event.data["attempt"], event.data["worker"]) for event in follower.heard if event.name == "lines"
    ]
    # The gang of a failed worker is ended with it, maybe before it said anything.
    assert {attempt for attempt, _ in told} == {0, 1, 2}
    assert set(follower.lines()) == {"out of luck"}
    assert len(told) == len(set(told))

    for attempt in range(3):
        params: dict[str, str | int] = {"worker": "all", "attempt": attempt}
        found = service.ok(rest.get("/api/trainjob/hasty/logs", params=params))
        assert {part["attempt"] for part in found["parts"]} == {attempt}
        assert "out of luck" in found["logs"]
    before = service.ok(rest.get("/api/trainjob/hasty/logs", params={"worker": "all", "previous": True}))
    assert before["parts"]


def test_lines_of_a_job_deleted_as_it_ran_are_kept(beside: Whole, rest: httpx.Client) -> None:
    beside.apply(a_shell("cut", "echo so far; sleep 600"))
    uid = beside.get("trainjob", "cut")["metadata"]["uid"]
    follower = sse.lines_of(rest, "cut")
    with follower.connected() as events:
        next(event for event in events if event.name == "lines")
    beside.kubectl("delete", "trainjob", "cut", "--wait=true")
    recorded(rest, uid, "deleted_at")
    states = sse.Follower(rest, "/api/trainjob/cut/logs/stream", {"uid": uid})
    assert states.to_the_end()["deleted"]
    parts = service.ok(rest.get(f"/api/history/{uid}/logs"))["parts"]
    assert [part["logs"] for part in parts] == ["so far\n"]


def test_nodes_beside_a_launcher_keep_their_numbers_when_the_job_is_gone(
    beside: Whole, rest: httpx.Client
) -> None:
    beside.apply(a_shell("launched", "echo the program", nodes=2, runtime="deepspeed-distributed"))
    uid = beside.get("trainjob", "launched")["metadata"]["uid"]
    beside.finish("launched", "Complete")
    recorded(rest, uid)
    beside.kubectl("delete", "trainjob", "launched", "--wait=true")
    recorded(rest, uid, "deleted_at")
    parts = service.ok(rest.get(f"/api/history/{uid}/logs"))["parts"]
    assert {(part["role"], part["worker"]) for part in parts} == {("launcher", 0), ("node", 1)}


def test_the_run_after_a_resume_is_the_last_one(beside: Whole, rest: httpx.Client) -> None:
    beside.apply(a_shell("paused", "date +%s%N; sleep 600", nodes=2))
    for count in range(1, 4):
        with sse.lines_of(rest, "paused").connected() as events:
            lines = (line for event in events if event.data["worker"] == 1 for line in event.data["lines"])
            told = [next(lines) for _ in range(count)]
        assert told == sorted(told)
        if count < 3:
            suspend_and_resume(rest, "paused")

    def read(**params: str | int | bool) -> Object:
        return service.ok(rest.get("/api/trainjob/paused/logs", params=params))

    assert read(worker=1)["logs"] == f"{told[2]}\n"
    assert read(worker=1, previous=True)["logs"] == f"{told[1]}\n"
    assert read(worker="all")["parts"][1]["logs"] == f"{told[2]}\n"
    assert read(worker="all", previous=True)["parts"][1]["logs"] == f"{told[1]}\n"
    beside.kubectl("delete", "trainjob", "paused", "--wait=true")


def suspend_and_resume(rest: httpx.Client, name: str) -> None:
    service.ok(rest.post(f"/api/trainjob/{name}/suspend"))
    with sse.states_of(rest, name).connected() as events:
        next(event for event in events if event.data["phase"] == "Suspended")
    service.ok(rest.post(f"/api/trainjob/{name}/resume"))
