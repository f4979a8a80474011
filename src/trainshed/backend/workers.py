"""A worker of a job and what it has written, by the number the contract gives it."""

from __future__ import annotations

from collections.abc import Sequence

from trainshed.backend.problems import Problem
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions, Resource, Where
from trainshed.jobs import summary
from trainshed.kube import faults
from trainshed.kube.objects import Object, dig, text

PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
MOST_BYTES = 8 << 20
"""Of a log in one answer: its end. The routes for streams and downloads have no such bound."""


async def logs(client: Client, job: Object, worker: int) -> str:
    """The end of the newest run's log; empty where it has not begun. Raises 404 for a worker there is not."""
    name, namespace = text(job, "metadata", "name"), text(job, "metadata", "namespace")
    listed = await client.list(PODS, namespace, Where(labels=f"{summary.JOBSET_NAME}={name}"))
    pod = chosen(listed.items, worker)
    if pod is None:
        _require(worker, summary.summarize(job).nodes)
        return ""
    try:
        return await _read(client, text(pod, "metadata", "name"), namespace, _container(pod))
    except faults.BadRequest:  # it waits to start
        return ""


def chosen(pods: Sequence[Object], worker: int) -> Object | None:
    """The newest pod of the worker with this number."""
    fitting = [pod for pod in pods if summary.role_of(pod) == "node" and summary.rank_of(pod) == worker]
    newest = sorted(
        fitting, key=lambda pod: (summary.attempt_of(pod), text(pod, "metadata", "creationTimestamp"))
    )
    return newest[-1] if newest else None


def _container(pod: Object) -> str:
    names = [str(container.get("name")) for container in dig(pod, "spec", "containers") or []]
    return "node" if "node" in names else names[0]


def _require(worker: int, nodes: int) -> None:
    if worker >= nodes:
        raise Problem(404, f"worker: the job has {nodes} workers, 0 to {nodes - 1}", field="worker")


async def _read(client: Client, pod: str, namespace: str, container: str) -> str:
    held = bytearray()
    async for piece in client.logs(pod, namespace, LogOptions(container=container)):
        held += piece
        if len(held) > 2 * MOST_BYTES:
            del held[:-MOST_BYTES]
    return held[-MOST_BYTES:].decode(errors="replace")
