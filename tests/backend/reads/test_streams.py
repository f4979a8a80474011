"""Following jobs: every line once, over broken connections, for as long as one may."""

from __future__ import annotations

import time

import httpx
import psutil
import pytest

from tests.backend import accounts, service
from tests.backend.reads import sse
from tests.backend.reads.conftest import Submit, asked
from tests.backend.service import Backend
from trainshed.jobs.summary import TRAINJOBS

COUNTING = "for i in $(seq 300); do echo line $i; [ $((i % 60)) = 0 ] && sleep 0.1; done; exit 0"
COUNTED = [f"line {number}" for number in range(1, 301)]


def test_all_lines_of_all_workers_come_and_then_the_verdict(
    rest: httpx.Client, submit: Submit, name: str
) -> None:
    made = submit(name, COUNTING, nodes=2)
    follower = sse.lines_of(rest, name)
    end = follower.to_the_end()
    assert (end["state"], end["phase"], end["deleted"]) == ("Complete", "Complete", False)
    assert (end["uid"], end["trainjob_name"]) == (made["metadata"]["uid"], name)
    assert end["completed_at"]
    for worker in (0, 1):
        assert follower.lines(worker) == COUNTED
    about = next(event for event in follower.heard if event.name == "lines").data
    assert {"worker", "role", "attempt", "container", "run", "pod", "time", "lines"} == set(about)
    again = rest.get(follower.path, params=follower.params, headers={"Last-Event-ID": follower.last})
    assert again.status_code == 204, "a browser that comes back after the end is told to stay away"


def test_a_broken_connection_costs_nothing_wherever_it_breaks(
    rest: httpx.Client, submit: Submit, name: str
) -> None:
    submit(name, COUNTING)
    follower = sse.lines_of(rest, name, worker=0)
    while not (follower.heard and follower.heard[-1].name == "end"):
        with follower.connected() as events:
            next(events, None)
    assert follower.lines() == COUNTED
    assert len([event for event in follower.heard if event.name == "end"]) == 1


def test_one_worker_is_followed_alone(rest: httpx.Client, submit: Submit, name: str) -> None:
    submit(name, "echo I am $PET_NODE_RANK; exit 0", nodes=2)
    follower = sse.lines_of(rest, name, worker=1)
    follower.to_the_end()
    assert follower.lines() == ["I am 1"]


def test_a_failure_is_told_with_its_reason(rest: httpx.Client, submit: Submit, name: str) -> None:
    submit(name, "echo it went wrong >&2; exit 7")
    end = sse.lines_of(rest, name).to_the_end()
    assert end["state"] == "Failed"
    assert "exited 7" in end["message"]


def test_states_are_told_as_they_change_until_the_end(rest: httpx.Client, submit: Submit, name: str) -> None:
    submit(name, "sleep 0.5; exit 0")
    follower = sse.states_of(rest, name)
    end = follower.to_the_end()
    assert end["phase"] == "Complete"
    phases = [event.data["phase"] for event in follower.heard if event.name == "status"]
    assert phases[-1] == "Complete"
    assert "Running" in phases
    assert len({event.id for event in follower.heard}) == len(follower.heard)
    answer = rest.get(follower.path, params=follower.params, headers={"Last-Event-ID": follower.last})
    assert answer.status_code == 204


def test_a_deleted_job_ends_its_streams(
    backend: Backend, rest: httpx.Client, submit: Submit, name: str
) -> None:
    submit(name, "echo here; sleep 600")
    lines, states = sse.lines_of(rest, name), sse.states_of(rest, name)
    with lines.connected() as events, states.connected() as changes:
        next(event for event in events if event.name == "lines")
        next(changes)
        service.ok(rest.delete(f"/api/trainjob/{name}", params={"namespace": "default"}))
        ends = [next(event for event in source if event.name == "end") for source in (events, changes)]
    for end in ends:
        assert end.data["deleted"]
        assert (end.data["state"], end.data["phase"]) == ("Deleted", "Deleted")


def test_a_namesake_shows_only_its_own_lines(
    backend: Backend, rest: httpx.Client, submit: Submit, name: str
) -> None:
    first = submit(name, "echo from the first; exit 0")
    old = sse.lines_of(rest, name)
    old.to_the_end()
    assert old.lines() == ["from the first"]
    service.ok(rest.delete(f"/api/trainjob/{name}", params={"namespace": "default"}))
    submit(name, "echo from the second; exit 0")
    new = sse.lines_of(rest, name)
    assert new.to_the_end()["uid"] != first["metadata"]["uid"]
    assert new.lines() == ["from the second"]

    old.heard.clear()  # comes back with its old place: there is another job now
    old.to_the_end()
    assert old.heard[0].name == "reset"
    assert old.lines() == ["from the second"]
    params: dict[str, str | int] = {"namespace": "default", "worker": 0}
    assert service.ok(rest.get(f"/api/trainjob/{name}/logs", params=params))["logs"] == "from the second\n"
    text = rest.get(f"/api/trainjob/{name}/logs/download", params={"namespace": "default"}).text
    assert "from the first" not in text

    until = time.monotonic() + service.ANSWER_SECONDS
    while rest.get(f"/api/history/{first['metadata']['uid']}").status_code == 404:
        assert time.monotonic() < until, "a deleted job is in the history a moment later"
        time.sleep(0.05)
    asked = sse.lines_of(rest, name, uid=first["metadata"]["uid"])
    assert asked.to_the_end()["uid"] == first["metadata"]["uid"]
    assert asked.lines() == ["from the first"]


def test_whoever_may_no_longer_read_is_cut_off_within_seconds(
    backend: Backend, submit: Submit, namespace: str, name: str
) -> None:
    token = asked(backend, lambda client: accounts.made(client, namespace))
    submit(name, "while true; do echo secret; sleep 0.1; done", namespace)
    with backend.rest(token) as rest:
        lines, states = sse.lines_of(rest, name, namespace), sse.states_of(rest, name, namespace)
        with lines.connected() as events, states.connected() as changes:
            next(event for event in events if event.name == "lines")
            next(changes)
            asked(backend, lambda client: client.delete("serviceaccounts", "caller", namespace))
            began = time.monotonic()
            last = [[*source][-1] for source in (events, changes)]
    assert time.monotonic() - began < 30
    for event in last:
        assert event.name == "problem"
        assert event.data["code"] in ("unauthorized", "forbidden")
    asked(backend, lambda client: client.delete(TRAINJOBS, name, namespace))


@pytest.mark.parametrize("route", ["logs/stream", "status/stream"])
def test_a_stream_of_a_job_there_is_not_is_not_found(rest: httpx.Client, route: str) -> None:
    answer = rest.get(f"/api/trainjob/nobody/{route}", params={"namespace": "default"})
    service.problem(answer, 404, "not_found")
    wrong = rest.get(f"/api/trainjob/nobody/{route}", params={"namespace": "default", "uid": "x"})
    service.problem(wrong, 404, "not_found")


def test_a_stalled_follower_holds_nothing_up(
    backend: Backend, rest: httpx.Client, submit: Submit, name: str
) -> None:
    line = "x" * 200
    submit(name, f"yes {line} | head -n 200000; exit 0")
    slow = sse.lines_of(rest, name)
    with slow.connected() as stalled:
        next(stalled)
        before = _resident(backend)
        quick = sse.lines_of(rest, name)
        quick.to_the_end()
        assert len(quick.lines()) == 200_000
        grown = _resident(backend) - before
        assert grown < 40e6, f"{grown / 1e6:.0f} MB more for 43 MB of lines"
        assert [*stalled][-1].name == "end"
    assert len(slow.lines()) == 200_000


def _resident(backend: Backend) -> int:
    assert backend.process is not None
    return int(psutil.Process(backend.process.pid).memory_info().rss)
