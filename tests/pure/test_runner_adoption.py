"""What is made of a pod that a former agent left: its status and what still runs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trainshed.kube import verdicts
from trainshed.kube.objects import JSON, Object
from trainshed.runner import adoption
from trainshed.runner.engine import Exit, Found
from trainshed.runner.states import ContainerView, Running, Terminated, Waiting

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
STARTED = "2026-11-15T12:00:00Z"


def a_pod(state: Object | None = None, restarts: int = 0, **more: JSON) -> Object:
    status = {"name": "c", "restartCount": restarts, "state": state or {"waiting": {}}, **more}
    if state and "waiting" not in state:
        status["containerID"] = "x"
    return {"spec": {"containers": [{"name": "c"}]}, "status": {"containerStatuses": [status]}}


def running(attempt: int) -> Found:
    return Found("u", "c", attempt, 42, None, NOW)


def ended(attempt: int, code: int = 0, *, oom: bool = False, said: str = "") -> Found:
    return Found("u", "c", attempt, None, Exit(code, 0, oom, NOW, NOW, said), NOW)


def adopted(pod: Object, *found: Found) -> tuple[ContainerView, bool]:
    result = adoption.adopt(pod, found)
    return result.views["c"], result.is_lost


def test_a_pod_that_never_ran_waits_for_its_first_run() -> None:
    view, lost = adopted(a_pod())
    assert (view.state, view.attempt, lost) == (Waiting(), None, False)


def test_a_container_that_still_runs_goes_on_as_it_was() -> None:
    pod = a_pod({"running": {"startedAt": STARTED}}, restarts=2, ready=True, started=True)
    view, lost = adopted(pod, running(2))
    assert view.state == Running(NOW)
    assert (view.attempt, view.restarts, view.ready, view.started, lost) == (2, 2, True, True, False)


def test_a_run_the_server_never_heard_of_counts() -> None:
    view, _ = adopted(a_pod(), running(0))
    assert (view.is_running, view.attempt) == (True, 0)
    pod = a_pod({"running": {"startedAt": STARTED}}, restarts=0)
    view, _ = adopted(pod, ended(0, 1), running(1))
    assert (view.is_running, view.attempt, view.restarts) == (True, 1, 1)
    assert view.last is not None
    assert view.last.code == 1


def test_an_end_nobody_told_is_told_now() -> None:
    view, lost = adopted(a_pod({"running": {"startedAt": STARTED}}), ended(0, 137, oom=True))
    assert view.state == Terminated(137, "OOMKilled", 0, "", NOW, NOW, 0)
    assert not lost


def test_an_end_nobody_told_is_told_in_the_words_it_has() -> None:
    pod = a_pod({"running": {"startedAt": STARTED}})
    view, _ = adopted(pod, ended(0, 9, said="boom"), running(1))
    assert view.last == Terminated(9, "Error", 0, "boom", NOW, NOW, 0)


def test_an_end_that_was_told_stays_with_its_message() -> None:
    told = {"exitCode": 1, "reason": "Error", "message": "why", "startedAt": STARTED, "finishedAt": STARTED}
    view, _ = adopted(a_pod({"terminated": told}), ended(0, 1, said="something else"))
    assert isinstance(view.state, Terminated)
    assert view.state.message == "why"


def test_what_ran_and_left_no_trace_was_lost() -> None:
    view, lost = adopted(a_pod({"running": {"startedAt": STARTED}}, restarts=3))
    assert lost
    assert isinstance(view.state, Terminated)
    assert (view.state.code, view.state.reason) == (137, "ContainerStatusUnknown")
    assert view.anew().state == Waiting()
    assert view.anew().last == view.state


@pytest.mark.parametrize(
    ("was_drained", "why"),
    [
        (True, "Trainshed was stopped on this machine"),
        (False, "the container was no longer there when the agent came back"),
    ],
)
def test_why_it_was_lost_is_told(was_drained: bool, why: str) -> None:
    pod = a_pod({"running": {"startedAt": STARTED}})
    state = adoption.adopt(pod, [], was_drained=was_drained).views["c"].state
    assert isinstance(state, Terminated)
    assert (verdicts.agents_reason(state.message) or state.message) == why


def test_nothing_was_stopped_while_another_container_of_the_pod_runs() -> None:
    pod = a_pod({"running": {"startedAt": STARTED}})
    pod["spec"]["containers"].append({"name": "other"})
    view, lost = adopted(pod, Found("u", "other", 0, 42, None, NOW))
    assert isinstance(view.state, Terminated)
    assert (view.state.reason, lost) == ("ContainerStatusUnknown", False)


@pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (3, "Error")])
def test_an_end_has_the_reason_upstream_gives_it(code: int, reason: str) -> None:
    assert adoption.ended(Exit(code, 0, False, NOW, NOW), 0, "").reason == reason


def test_an_init_container_that_was_done_stays_done() -> None:
    pod: Object = {
        "spec": {"initContainers": [{"name": "i"}], "containers": [{"name": "c"}]},
        "status": {
            "initContainerStatuses": [
                {"name": "i", "containerID": "x", "state": {"terminated": {"exitCode": 0}}}
            ]
        },
    }
    view = adoption.adopt(pod, []).views["i"]
    assert (view.part, view.ready) == ("init", True)
