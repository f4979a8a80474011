"""The test as the kubelet: pods of a Job are found, started, ended and taken away by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from tests import waits
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.controllers.job.specs import INDEX
from trainshed.kube import conditions
from trainshed.kube.objects import Object, dig

NODE: Final = "nowhere"
Pods = dict[str, Object]


async def pods_when(client: Client, job: str, claim: Callable[[list[Object]], object]) -> list[Object]:
    """The Job's pods, ordered by index and name, as soon as the claim holds for all of them."""
    found: Pods = {}
    complete = False
    where = Where(labels=f"job-name={job}")
    async with asyncio.timeout(waits.SECONDS), client.watch("pods", where=where) as changes:
        async for change in changes:
            if change.type == "SYNCED":
                complete = True
            elif change.type == "DELETED":
                found.pop(change.object["metadata"]["name"], None)
            else:
                found[change.object["metadata"]["name"]] = change.object
            ordered = sorted(found.values(), key=lambda pod: (index_of(pod), pod["metadata"]["name"]))
            if complete and claim(ordered):
                return ordered
    raise AssertionError("a watch does not end by itself")


async def active_pods(client: Client, job: str, count: int) -> list[Object]:
    """So many pods that have neither ended nor been deleted."""

    def active(pods: list[Object]) -> list[Object]:
        return [pod for pod in pods if is_active(pod)]

    return active(await pods_when(client, job, lambda pods: len(active(pods)) == count))


def is_active(pod: Object) -> bool:
    over = dig(pod, "status", "phase") in ("Succeeded", "Failed")
    return not over and not dig(pod, "metadata", "deletionTimestamp")


def index_of(pod: Object) -> int:
    return int(dig(pod, "metadata", "annotations", INDEX) or -1)


async def bind(client: Client, pod: Object) -> None:
    """Give it a node: from now on it is not gone as soon as it is deleted."""
    name = pod["metadata"]["name"]
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    await client.create_under("pods", name, "binding", binding)


async def run(client: Client, pod: Object, restarts: int = 0, *, ready: bool = True) -> None:
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    said = {"type": "Ready", "status": "True" if ready else "False"}
    await _say(client, pod, "Running", state, restarts, [said])


async def end(client: Client, pod: Object, code: int = 0) -> None:
    """Its container exited; the pod does not run it again."""
    phase = "Failed" if code else "Succeeded"
    await _say(client, pod, phase, {"terminated": {"exitCode": code}}, 0, [])


async def take_away(client: Client, pod: Object) -> None:
    """What a kubelet does when a deleted pod's containers have ended."""
    await client.delete("pods", pod["metadata"]["name"], options=Delete(grace_seconds=0))


async def _say(
    client: Client, pod: Object, phase: str, state: Object, restarts: int, said: list[Object]
) -> None:
    container: Object = {
        "name": "main", "image": "i", "imageID": "", "ready": phase == "Running", "restartCount": restarts,
        "state": state,
    }  # fmt: skip
    status = {"phase": phase, "containerStatuses": [container], "conditions": said}
    await client.patch(
        "pods", pod["metadata"]["name"], {"status": status}, type="strategic", subresource="status"
    )


# --- Jobs -------------------------------------------------------------------------------------------------


async def job_when(client: Client, name: str, **fields: object) -> Object:
    """The Job, once its status has these values; 0 and a missing number are the same."""

    def holds(job: Object) -> bool:
        status = job.get("status") or {}
        return all((status.get(key) or 0) == value for key, value in fields.items())

    return await waits.until(client, "jobs", name, holds)


async def job_said(client: Client, name: str, type: str, status: str = "True") -> Object:
    """The Job, once it has a condition."""

    def holds(job: Object) -> bool:
        found = conditions.find(dig(job, "status", "conditions"), type)
        return found is not None and found["status"] == status

    return await waits.until(client, "jobs", name, holds)


def said(job: Object) -> list[tuple[str, str, str]]:
    """Its conditions: type, status and reason, in order."""
    found = dig(job, "status", "conditions") or ()
    return [(item["type"], item["status"], item.get("reason", "")) for item in found]
