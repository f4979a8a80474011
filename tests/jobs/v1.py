"""Jobs of the v1 kinds for tests, and what is asked of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from tests.whole import JOB_SECONDS, Whole
from trainshed.kinds.kubeflow.families import FAMILIES, Family
from trainshed.kube.conditions import is_true
from trainshed.kube.objects import Object

JOB_NAME = "training.kubeflow.org/job-name"
ROLE = "training.kubeflow.org/job-role"
ENDS = ("Succeeded", "Failed")
_FAMILIES = {family.kind: family for family in FAMILIES}


def a_job(kind: str, name: str, policy: Object | None = None, /, **replicas: Object) -> Object:
    """`a_job("TFJob", "t", Worker=a_replica(...))`; a RunPolicy may come before the replicas."""
    family = _FAMILIES[kind]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "runPolicy": policy or {},
            family.replicas: {type: _named(family, spec) for type, spec in replicas.items()},
        },
    }


def a_replica(*command: str, count: int = 1, policy: str = "", **container: object) -> Object:
    main = {"image": "example.org/any:1", "command": list(command), **container}
    found: Object = {"replicas": count, "template": {"spec": {"containers": [main]}}}
    return {**found, "restartPolicy": policy} if policy else found


def a_script(script: str, count: int = 1, policy: str = "", **container: object) -> Object:
    return a_replica("bash", "-c", script, count=count, policy=policy, **container)


def a_program(source: str, count: int = 1, policy: str = "", **container: object) -> Object:
    return a_replica("python", "-c", source, count=count, policy=policy, **container)


def _named(family: Family, spec: Object) -> Object:
    """The container that trains has the name its kind wants."""
    spec["template"]["spec"]["containers"][0].setdefault("name", family.container)
    return spec


# --- what became of them ----------------------------------------------------------------------------------


def finish(
    shed: Whole, kind: str, name: str, condition: str = "Succeeded", seconds: float = JOB_SECONDS
) -> Object:
    """Wait until a job claims a condition; what it did instead is in the failure."""
    what = f"{kind.lower()}/{name}"
    # Whichever way it ends, it has a time then: nobody has to wait for a success that will not come.
    claim = f"condition={condition}" if condition not in ENDS else "jsonpath={.status.completionTime}"
    words = ("wait", f"--for={claim}", what, f"--timeout={seconds:.0f}s")
    ran = shed.run("kubectl", *words, seconds=seconds + 10)
    job = shed.get(kind.lower(), name)
    if ran.code or not holds(job, condition):
        told = shed.run("kubectl", "describe", what).out[-3000:]
        said = {pod["metadata"]["name"]: output(shed, pod) for pod in pods(shed, name)}
        raise AssertionError(f"{name} is not {condition}: {ran.err}\n{told}\n{said}\n{shed.logs()}")
    return job


def parsed(text: str) -> Object:
    found: Object = json.loads(text)
    return found


def pods(shed: Whole, name: str, selector: str = "") -> list[Object]:
    found = shed.list("pods", ",".join(filter(None, [f"{JOB_NAME}={name}", selector])))
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def output(shed: Whole, pod: Object | str) -> str:
    """What a pod's main container has said so far; nothing where it never began."""
    name = pod if isinstance(pod, str) else pod["metadata"]["name"]
    return shed.run("kubectl", "logs", name).out


def outputs(shed: Whole, name: str) -> dict[str, str]:
    return {pod["metadata"]["name"]: output(shed, pod) for pod in pods(shed, name)}


def uids(shed: Whole, name: str) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods(shed, name)}


def restart_count(shed: Whole, pod: str) -> int:
    found: int = shed.get("pod", pod)["status"]["containerStatuses"][0]["restartCount"]
    return found


def types(job: Object) -> list[tuple[str, str]]:
    """Its conditions, in their order."""
    return [(one["type"], one["status"]) for one in job["status"]["conditions"]]


def holds(job: Object, condition: str) -> bool:
    return is_true(job.get("status", {}).get("conditions"), condition)


def message(job: Object, condition: str) -> str:
    [found] = [one["message"] for one in job["status"]["conditions"] if one["type"] == condition]
    return str(found)


def reasons(shed: Whole, name: str) -> set[str]:
    """Of the events told about the job itself."""
    told = shed.list("events")
    return {one["reason"] for one in told if one["involvedObject"].get("name") == name}


def await_ready(shed: Whole, name: str, count: int, seconds: float = 60.0) -> None:
    """Wait until so many pods of a job are there and ready."""

    def are_ready() -> bool:
        return sum(holds(pod, "Ready") for pod in pods(shed, name)) >= count

    eventually(are_ready, f"{count} pods of {name} are ready", seconds)


def eventually(claim: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until, f"it did not come to this: {what}"
        time.sleep(0.05)
