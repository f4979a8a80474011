"""The one word that sums a pod up, and the counts beside it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trainshed.kinds.printing import PRINTERS
from trainshed.kube.objects import JSON, Object

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
RUNNING: Object = {"running": {"startedAt": "2026-11-15T11:00:00Z"}}


def ended(code: int = 0, reason: str = "", signal: int = 0) -> Object:
    full = {"exitCode": code, "reason": reason, "signal": signal}
    return {"terminated": {key: value for key, value in full.items() if value or key == "exitCode"}}


def waiting(reason: str) -> Object:
    return {"waiting": {"reason": reason}}


def a_container(state: Object, *, ready: bool = False, restarts: int = 0, **more: JSON) -> Object:
    return {"name": "c", "state": state, "ready": ready, "restartCount": restarts, **more}


def a_pod(
    *statuses: Object, phase: str = "Running", init: list[Object] | None = None, **status: JSON
) -> Object:
    return {
        "metadata": {"name": "p", "creationTimestamp": "2026-11-15T11:50:00Z"},
        "spec": {
            "containers": [{"name": f"c{index}"} for index in range(max(1, len(statuses)))],
            "initContainers": [{"name": item.get("name", "i")} for item in init or []],
        },
        "status": {
            "phase": phase,
            "containerStatuses": list(statuses),
            "initContainerStatuses": init or [],
            **status,
        },
    }


def printed(pod: Object) -> list[JSON]:
    return list(PRINTERS["pods"].cells(pod, NOW))


def word(pod: Object) -> JSON:
    return printed(pod)[2]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (a_pod(phase="Pending"), "Pending"),
        (a_pod(phase="Failed", reason="Evicted"), "Evicted"),
        (a_pod(a_container(RUNNING, ready=True)), "Running"),
        (a_pod(a_container(waiting("ContainerCreating")), phase="Pending"), "ContainerCreating"),
        (a_pod(a_container(waiting("CrashLoopBackOff"))), "CrashLoopBackOff"),
        (a_pod(a_container(ended(0, "Completed")), phase="Succeeded"), "Completed"),
        (a_pod(a_container(ended(1, "Error")), phase="Failed"), "Error"),
        (a_pod(a_container(ended(137, "OOMKilled")), phase="Failed"), "OOMKilled"),
        (a_pod(a_container(ended(3)), phase="Failed"), "ExitCode:3"),
        (a_pod(a_container(ended(137, signal=9)), phase="Failed"), "Signal:9"),
        # The first container that has something to say wins.
        (a_pod(a_container(ended(1, "Error")), a_container(waiting("ImagePullBackOff"))), "Error"),
    ],
)
def test_a_pod_says_what_its_containers_do(pod: Object, expected: str) -> None:
    assert word(pod) == expected


def test_a_completed_container_beside_a_running_one_leaves_the_pod_running() -> None:
    pod = a_pod(a_container(ended(0, "Completed")), a_container(RUNNING, ready=True))
    assert word(pod) == "NotReady"
    pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert word(pod) == "Running"
    assert printed(pod)[1] == "1/2"


def test_a_gated_pod_says_so() -> None:
    gated = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert word(a_pod(phase="Pending", conditions=gated)) == "SchedulingGated"


@pytest.mark.parametrize(
    ("phase", "reason", "expected"),
    [("Running", "", "Terminating"), ("Running", "NodeLost", "Unknown"), ("Succeeded", "", "Succeeded")],
)
def test_a_pod_being_deleted_is_terminating_unless_it_has_ended(
    phase: str, reason: str, expected: str
) -> None:
    pod = a_pod(phase=phase, reason=reason)
    pod["metadata"]["deletionTimestamp"] = "2026-11-15T12:00:00Z"
    assert word(pod) == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([waiting("PodInitializing"), waiting("PodInitializing")], "Init:0/2"),
        ([ended(0), RUNNING], "Init:1/2"),
        ([ended(0), waiting("CrashLoopBackOff")], "Init:CrashLoopBackOff"),
        ([ended(1, "Error"), waiting("PodInitializing")], "Init:Error"),
        ([ended(2), waiting("PodInitializing")], "Init:ExitCode:2"),
        ([ended(137, signal=9), waiting("PodInitializing")], "Init:Signal:9"),
        ([ended(0), ended(0)], "ContainerCreating"),
    ],
)
def test_the_first_unfinished_init_container_is_what_counts(states: list[Object], expected: str) -> None:
    init = [a_container(state) for state in states]
    assert word(a_pod(a_container(waiting("ContainerCreating")), phase="Pending", init=init)) == expected


def test_sidecars_count_as_containers_once_started() -> None:
    sidecar = a_container(RUNNING, ready=True, restarts=2, started=True) | {"name": "side"}
    pod = a_pod(a_container(RUNNING, ready=True, restarts=1), init=[sidecar])
    pod["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always"}]
    assert printed(pod)[1:4] == ["2/2", "Running", "3"]


def test_restarts_of_finished_init_containers_are_forgotten() -> None:
    pod = a_pod(a_container(RUNNING, ready=True), init=[a_container(ended(0), restarts=5)])
    assert printed(pod)[3] == "0"
    pod = a_pod(init=[a_container(waiting("CrashLoopBackOff"), restarts=5)], phase="Pending")
    assert printed(pod)[3] == "5"


def test_restarts_tell_how_long_ago_the_last_one_was() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": "2026-11-15T11:57:00Z"}}
    older = {"terminated": {"exitCode": 1, "finishedAt": "2026-11-15T11:00:00Z"}}
    pod = a_pod(
        a_container(RUNNING, restarts=2, lastState=last), a_container(RUNNING, restarts=1, lastState=older)
    )
    assert printed(pod)[3] == "3 (3m ago)"


def test_wide_columns_show_where_the_pod_is() -> None:
    pod = a_pod(
        a_container(RUNNING, ready=True),
        podIPs=[{"ip": "10.0.0.7"}, {"ip": "fd00::7"}],
        conditions=[{"type": "one", "status": "True"}, {"type": "two", "status": "False"}],
    )
    pod["spec"] |= {"nodeName": "n1", "readinessGates": [{"conditionType": "one"}, {"conditionType": "two"}]}
    assert printed(pod)[4:] == ["10m", "10.0.0.7", "n1", "<none>", "1/2"]
    assert printed(a_pod())[5:] == ["<none>", "<none>", "<none>", "<none>"]
