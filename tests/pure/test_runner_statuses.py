"""The status of a pod from what its containers do: phase, conditions, container states."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import pytest

from trainshed.kube import conditions
from trainshed.kube.objects import JSON, Object
from trainshed.runner import pod_status
from trainshed.runner.pod_status import PodView
from trainshed.runner.states import ContainerView, Part, Running, State, Terminated, Waiting

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
RUNNING = Running(NOW)
FINE, BROKEN = Terminated(0, "Completed", attempt=0), Terminated(1, "Error", attempt=0)


def a_pod(
    policy: str = "Never", init: tuple[str, ...] = (), sidecars: tuple[str, ...] = (), mains: int = 1
) -> Object:
    early: list[Object] = [{"name": name, "image": "i"} for name in init]
    early += [{"name": name, "image": "i", "restartPolicy": "Always"} for name in sidecars]
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u1", "generation": 1},
        "spec": {
            "restartPolicy": policy,
            "initContainers": early,
            "containers": [{"name": f"c{index}", "image": "i"} for index in range(mains)],
        },
        "status": {"phase": "Pending"},
    }


def one(name: str, state: State, part: Part = "main", **more: JSON) -> ContainerView:
    ran = not isinstance(state, Waiting)
    view = ContainerView(name, part, state, attempt=0 if ran else None)
    ready = isinstance(state, Running) or (part == "init" and state == FINE)
    return dataclasses.replace(view.judged(started=isinstance(state, Running), ready=ready), **more)


def a_view(*views: ContainerView, over: bool = False, **more: JSON) -> PodView:
    return PodView({view.name: view for view in views}, "10.0.0.5", "192.0.2.1", NOW, True, over, **more)


def status(pod: Object, view: PodView) -> Object:
    return pod_status.status(pod, view, NOW)


def phase(pod: Object, *views: ContainerView, over: bool = False) -> JSON:
    return status(pod, a_view(*views, over=over))["phase"]


@pytest.mark.parametrize(
    ("policy", "states", "expected"),
    [
        ("Never", [Waiting()], "Pending"),
        ("Never", [RUNNING], "Running"),
        ("Never", [RUNNING, Waiting()], "Pending"),
        ("Never", [RUNNING, BROKEN], "Running"),
        ("Never", [FINE], "Running"),
        ("Never", [FINE, BROKEN], "Running"),
        ("OnFailure", [FINE], "Running"),
        ("OnFailure", [BROKEN], "Running"),
        ("Always", [FINE], "Running"),
    ],
)
def test_the_phase_follows_the_main_containers(policy: str, states: list[State], expected: str) -> None:
    views = [one(f"c{index}", state) for index, state in enumerate(states)]
    assert phase(a_pod(policy, mains=len(states)), *views) == expected


@pytest.mark.parametrize(
    ("states", "expected"), [([FINE], "Succeeded"), ([FINE, BROKEN], "Failed"), ([BROKEN], "Failed")]
)
def test_how_it_ended_is_told_when_all_is_over(states: list[State], expected: str) -> None:
    views = [one(f"c{index}", state) for index, state in enumerate(states)]
    assert phase(a_pod(mains=len(states)), *views, over=True) == expected


def test_a_container_that_waits_for_its_restart_keeps_the_pod_running() -> None:
    backing_off = one("c0", BROKEN).waiting("CrashLoopBackOff", "back-off 1s")
    assert phase(a_pod("OnFailure"), backing_off) == "Running"


@pytest.mark.parametrize(("state", "expected"), [(BROKEN, "Failed"), (FINE, "Succeeded")])
def test_a_pod_that_was_ended_is_final_whatever_its_policy(state: State, expected: str) -> None:
    assert phase(a_pod("Always"), one("c0", state), over=True) == expected


def test_a_pod_that_was_ended_before_it_ran_has_failed() -> None:
    assert phase(a_pod(), one("c0", Waiting()), over=True) == "Failed"


@pytest.mark.parametrize(
    ("policy", "state", "expected"),
    [
        ("Never", RUNNING, "Pending"),
        ("Never", BROKEN, "Pending"),
        ("OnFailure", BROKEN, "Pending"),
    ],
)
def test_init_containers_come_before_everything(policy: str, state: State, expected: str) -> None:
    pod = a_pod(policy, init=("i",))
    assert phase(pod, one("i", state, "init"), one("c0", Waiting("PodInitializing"))) == expected


def test_a_failed_init_container_fails_the_pod() -> None:
    pod = a_pod(init=("i",))
    views = one("i", BROKEN, "init"), one("c0", Waiting("PodInitializing"))
    assert phase(pod, *views, over=True) == "Failed"


def test_the_pod_runs_when_its_init_containers_are_done() -> None:
    pod = a_pod(init=("i",))
    assert phase(pod, one("i", FINE, "init"), one("c0", RUNNING)) == "Running"


def test_a_sidecar_that_has_not_started_keeps_the_pod_pending() -> None:
    pod = a_pod(sidecars=("s",))
    starting = one("s", RUNNING, "sidecar", started=False)
    assert phase(pod, starting, one("c0", Waiting())) == "Pending"


def test_a_sidecar_that_still_ends_keeps_the_pod_running() -> None:
    pod = a_pod(sidecars=("s",))
    assert phase(pod, one("s", RUNNING, "sidecar"), one("c0", FINE)) == "Running"


def test_how_sidecars_end_does_not_count() -> None:
    pod = a_pod(sidecars=("s",))
    killed = Terminated(143, "Error", attempt=0)
    assert phase(pod, one("s", killed, "sidecar"), one("c0", FINE), over=True) == "Succeeded"


def test_a_final_phase_never_changes() -> None:
    pod = a_pod() | {"status": {"phase": "Failed"}}
    assert phase(pod, one("c0", RUNNING)) == "Failed"


def test_the_agents_own_verdict_is_told() -> None:
    view = a_view(
        one("c0", Terminated(143, "Error")), over=True, reason="DeadlineExceeded", message="too long"
    )
    found = status(a_pod("OnFailure"), view)
    assert (found["phase"], found["reason"], found["message"]) == ("Failed", "DeadlineExceeded", "too long")


# --- conditions ---


def claims(pod: Object, *views: ContainerView, over: bool = False) -> dict[str, tuple[JSON, JSON, JSON]]:
    found = status(pod, a_view(*views, over=over))["conditions"]
    return {one["type"]: (one["status"], one.get("reason"), one.get("message")) for one in found}


def test_a_running_pod_is_ready_in_every_respect() -> None:
    found = claims(a_pod(), one("c0", RUNNING))
    assert {status for status, _, _ in found.values()} == {"True"}
    assert [*found] == [
        "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    ]  # fmt: skip


def test_unready_containers_are_named() -> None:
    unready = one("c0", RUNNING, ready=False)
    found = claims(a_pod(mains=2), unready, one("c1", Waiting()))
    words = ("False", "ContainersNotReady", "containers with unready status: [c0 c1]")
    assert found["Ready"] == found["ContainersReady"] == words


def test_incomplete_init_containers_are_named() -> None:
    found = claims(a_pod(init=("i",)), one("i", RUNNING, "init"), one("c0", Waiting()))
    words = ("False", "ContainersNotInitialized", "containers with incomplete status: [i]")
    assert found["Initialized"] == words


@pytest.mark.parametrize(("state", "reason"), [(FINE, "PodCompleted"), (BROKEN, "PodFailed")])
def test_a_finished_pod_is_not_ready_and_says_why(state: State, reason: str) -> None:
    found = claims(a_pod(), one("c0", state), over=True)
    assert found["Ready"] == found["ContainersReady"] == ("False", reason, None)


def test_readiness_gates_wait_for_conditions_of_others() -> None:
    pod = a_pod()
    pod["spec"]["readinessGates"] = [{"conditionType": "example.com/green"}]
    words = 'corresponding condition of pod readiness gate "example.com/green" does not exist.'
    assert claims(pod, one("c0", RUNNING))["Ready"] == ("False", "ReadinessGatesNotReady", words)
    pod["status"]["conditions"] = [{"type": "example.com/green", "status": "True"}]
    assert claims(pod, one("c0", RUNNING))["Ready"][0] == "True"


def test_a_transition_time_moves_only_with_the_status() -> None:
    pod = a_pod()
    before = "2026-11-15T11:00:00Z"
    pod["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": before},
        {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": before},
    ]
    found = status(pod, a_view(one("c0", RUNNING)))["conditions"]
    assert (conditions.find(found, "PodScheduled") or {})["lastTransitionTime"] == before
    ready = conditions.find(found, "Ready") or {}
    assert ready["lastTransitionTime"] == "2026-11-15T12:00:00Z"
    assert ready["reason"] is None, "a reason that no longer holds has to be unset"


def test_nothing_is_written_when_nothing_changed() -> None:
    pod = a_pod()
    wanted = status(pod, a_view(one("c0", RUNNING)))
    kept = {key: value for key, value in wanted.items() if value is not None}
    foreign: Object = {"type": "DisruptionTarget", "status": "False"}
    stored = {**kept, "conditions": [*reversed(kept["conditions"]), foreign], "qosClass": "BestEffort"}
    assert pod_status.change(stored, wanted) == {}


def test_only_what_changed_is_written() -> None:
    pod = a_pod()
    before = status(pod, a_view(one("c0", RUNNING)))
    after = status(pod, a_view(one("c0", RUNNING, restarts=1)))
    assert [*pod_status.change(before, after)] == ["containerStatuses"]


# --- containers ---


def test_a_container_tells_its_state_and_the_one_before() -> None:
    view = one("c0", BROKEN).running(1, NOW).judged(started=True, ready=True)
    (found,) = status(a_pod("OnFailure"), a_view(view, images={"c0": "environment:///venv"}))[
        "containerStatuses"
    ]
    assert found == {
        "name": "c0",
        "image": "i",
        "imageID": "environment:///venv",
        "restartCount": 1,
        "ready": True,
        "started": True,
        "containerID": "trainshed://u1/c0/1",
        "state": {"running": {"startedAt": "2026-11-15T12:00:00Z"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "containerID": "trainshed://u1/c0/0"}},
    }


def test_what_an_image_is_stays_known() -> None:
    pod = a_pod()
    pod["status"]["containerStatuses"] = [{"name": "c0", "imageID": "environment:///venv"}]
    (found,) = status(pod, a_view(one("c0", RUNNING)))["containerStatuses"]
    assert found["imageID"] == "environment:///venv"


def test_an_end_by_signal_tells_all_that_is_known() -> None:
    end = Terminated(137, "OOMKilled", 9, "too much", NOW, NOW, 0)
    (found,) = status(a_pod(), a_view(one("c0", end)))["containerStatuses"]
    assert found["state"]["terminated"] == {
        "exitCode": 137,
        "reason": "OOMKilled",
        "signal": 9,
        "message": "too much",
        "startedAt": "2026-11-15T12:00:00Z",
        "finishedAt": "2026-11-15T12:00:00Z",
        "containerID": "trainshed://u1/c0/0",
    }


@pytest.mark.parametrize(("grace", "expected"), [(30, True), (0, False)])
def test_a_deletion_with_time_left_waits_for_the_node(grace: int, expected: bool) -> None:
    pod: Object = {"metadata": {"deletionTimestamp": "x", "deletionGracePeriodSeconds": grace}}
    assert pod_status.awaits_confirmation(pod) is expected
    assert not pod_status.awaits_confirmation({"metadata": {}})


def test_containers_added_for_debugging_are_refused_in_words() -> None:
    pod = a_pod()
    pod["spec"]["ephemeralContainers"] = [{"name": "debugger", "image": "busybox"}]
    (found,) = status(pod, a_view(one("c0", RUNNING)))["ephemeralContainerStatuses"]
    assert found["name"] == "debugger"
    assert found["state"]["terminated"]["message"] == "ephemeral containers do not run here: use kubectl exec"


@pytest.mark.parametrize(("state", "expected"), [(Waiting(), False), (RUNNING, False), (FINE, True)])
def test_an_init_container_is_ready_once_it_is_done(state: State, expected: bool) -> None:
    view = a_view(one("i", state, "init"), one("c0", Waiting("PodInitializing")))
    (found,) = status(a_pod(init=("i",)), view)["initContainerStatuses"]
    assert found["ready"] is expected


def test_a_sidecar_is_ready_while_it_runs() -> None:
    view = a_view(one("s", RUNNING, "sidecar"), one("c0", RUNNING))
    (found,) = status(a_pod(sidecars=("s",)), view)["initContainerStatuses"]
    assert found["ready"] is True
