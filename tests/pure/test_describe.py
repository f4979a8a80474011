"""What `describe` says of each pod: the verdict's words, not the end of its log."""

from __future__ import annotations

import pytest

from tests.pure.pod_objects import a_pod, ended, restarted, unplaced, waiting, with_status
from trainshed.cli.describe import pod_state
from trainshed.kube.objects import JSON, Object

TABLE = """
ValueError: too small
============================================================
train.py FAILED
------------------------------------------------------------
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 8)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""
END = {"exitCode": 1, "message": TABLE, "finishedAt": "2026-01-01T00:00:05Z"}


def crashing() -> Object:
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}
    status = {"name": "node", "restartCount": 3, "state": state, "lastState": {"terminated": END}}
    return with_status(a_pod(), status)


def failed(pod: Object, **status: JSON) -> Object:
    return {**pod, "status": {**pod["status"], "phase": "Failed", **status}}


@pytest.mark.parametrize(
    ("pod", "state", "words"),
    [
        (a_pod(), "Running", ""),
        (restarted(a_pod(), TABLE), "Running", ""),
        (ended(a_pod(), TABLE), "Error", "exited 1: ValueError: too small"),
        (crashing(), "CrashLoopBackOff", "exited 1: ValueError: too small"),
        (unplaced(a_pod(), "needs cpu 8, this machine has 4"), "Pending", "needs cpu 8, this machine has 4"),
        (waiting(a_pod(), "ErrImagePull", "no such environment"), "ErrImagePull", "no such environment"),
        (waiting(a_pod(), "ContainerCreating"), "ContainerCreating", ""),
        (failed(a_pod()), "Failed", "failed"),
    ],
)
def test_a_pod_is_told_with_its_state_and_why(pod: Object, state: str, words: str) -> None:
    assert pod_state(pod) == (state, words)


def test_a_pod_that_went_with_its_node_says_so_and_not_what_its_program_printed_last() -> None:
    lost = failed(
        ended(a_pod(), "tick 0 None\ntick 1 None\n", code=143),
        reason="NodeShutdown",
        message="trainshed was stopped",
    )
    assert pod_state(lost) == ("NodeShutdown", "failed: NodeShutdown: trainshed was stopped")


def test_of_several_containers_the_one_that_ended_is_named() -> None:
    pod = ended(a_pod(), "ValueError: too small")
    pod["spec"]["containers"].append({"name": "beside"})
    assert pod_state(pod) == ("Error", "container node exited 1: ValueError: too small")
