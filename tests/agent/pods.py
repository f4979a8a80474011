"""Pods for tests of the node agent: one line each, bound to this machine."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.agent.nodes import NODE
from trainshed.kube.objects import JSON, Object, dig
from trainshed.runner.process import records


def a_container(script: str, name: str = "main", **more: JSON) -> Object:
    """A container that runs a shell script."""
    return {"name": name, "image": "example.com/image:1", "command": ["sh", "-c", script], **more}


def a_pod(name: str, *containers: Object | str, policy: str = "Never", **spec: JSON) -> Object:
    made = [a_container(one) if isinstance(one, str) else one for one in containers]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": NODE,
            "restartPolicy": policy,
            "terminationGracePeriodSeconds": 5,
            "containers": made,
            **spec,
        },
    }


def phase(pod: Object) -> JSON:
    return dig(pod, "status", "phase")


def is_over(pod: Object) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_running(pod: Object) -> bool:
    return bool(phase(pod) == "Running")


def status(pod: Object, name: str = "main") -> Object:
    """What is told of a container; of one the agent has not seen, that it has done nothing."""
    for group in ("containerStatuses", "initContainerStatuses"):
        for one in dig(pod, "status", group) or []:
            if one["name"] == name:
                return dict(one)
    return {"name": name, "restartCount": 0, "ready": False, "state": {}}


def end(pod: Object, name: str = "main") -> Object:
    """How a container ended."""
    found = status(pod, name)["state"].get("terminated")
    assert found is not None, status(pod, name)
    return dict(found)


def waiting(pod: Object, name: str = "main") -> Object:
    return dict(dig(status(pod, name), "state", "waiting") or {})


def kill_supervisor(engine: Path, pod: Object) -> None:
    """End what looks after the one container of a pod, as the kernel does when memory is short."""
    ((_, run),) = records.runs_of(str(engine / records.PODS / pod["metadata"]["uid"]))
    os.kill(run.supervisor.pid, signal.SIGKILL)
