"""Streams of server-sent events: a job's lines and states as they come, until it has ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from trainshed.backend import caller as callers
from trainshed.backend import problems, requestids, rows
from trainshed.backend.caller import Caller, CurrentCaller, Place
from trainshed.backend.following import followers
from trainshed.backend.following.hub import Hub
from trainshed.backend.following.permits import Need, Permit
from trainshed.backend.history.store import Store
from trainshed.backend.index import Index
from trainshed.backend.joblines.runs import Choice
from trainshed.backend.problems import Problem
from trainshed.backend.routes import namesakes, workers
from trainshed.backend.routes.jobname import JobName
from trainshed.backend.routes.workers import Worker
from trainshed.backend.rows import Row
from trainshed.jobs.summary import TRAINJOBS
from trainshed.kube import faults
from trainshed.kube.objects import JSON, text

router = APIRouter(prefix="/api/trainjob", tags=["streams"])

MEDIA = "text/event-stream"
_LINES = (
    "id: 9f86d081884c7d65-0000000001a4\nevent: lines\n"
    'data: {"worker":0,"role":"node","attempt":0,"container":"node","run":0,"pod":"user123-job-node-0-0-x7k2"'
    ',"time":"2025-11-05T13:00:02.125Z","lines":["Epoch 1/3 loss 0.0349"]}\n\n'
)
_STATUS = (
    "id: 0b8f4c1e-4711\nevent: status\n"
    'data: {"trainjob_name":"user123-job-20251105130000","namespace":"user-123",'
    '"uid":"0b8f4c1e","state":"Running","phase":"Running","message":"","created_at":"2025-11-05T13:00:00Z",'
    '"completed_at":null}\n\n'
)
_END = (
    'event: end\ndata: {"trainjob_name":"user123-job-20251105130000","namespace":"user-123","uid":"0b8f4c1e",'
    '"state":"Complete","phase":"Complete","message":"jobset completed successfully",'
    '"created_at":"2025-11-05T13:00:00Z","completed_at":"2025-11-05T13:05:00Z","deleted":false}\n\n'
)
Begin = Callable[[Permit], AsyncGenerator[bytes, None]]
LastId = Annotated[
    str,
    Header(max_length=256, description="The id of the last event that came; the stream goes on behind it."),
]
Uid = Annotated[
    str,
    Query(max_length=64, description="Which of several jobs that have had this name; the present one else."),
]


def _responses(example: str) -> dict[int | str, dict[str, JSON]]:
    found: dict[int | str, dict[str, JSON]] = {
        200: {
            "description": "Events, until one called `end`.",
            "content": {MEDIA: {"schema": {"type": "string"}, "example": example}},
        },
        204: {"description": "The stream had ended with the event whose id was sent."},
    }
    return found | problems.responses(404)


@router.get("/{name}/logs/stream", responses=_responses(_LINES + _END), response_class=StreamingResponse)
async def lines(
    name: JobName,
    namespace: Place,
    caller: CurrentCaller,
    request: Request,
    worker: Annotated[
        Worker, workers.READ, Query(description="One worker's lines; all unless given.")
    ] = "all",
    container: Annotated[str, Query(max_length=63, description="One container's lines.")] = "",
    uid: Uid = "",
    last_event_id: LastId = "",
) -> Response:
    """Follow lines from the first one on, of all attempts.

    Events are `lines`, at last `end` with the verdict; `gap` where a follower was so slow that lines are no
    longer kept for it, `reset` where its place is not known, `problem` where it may no longer follow.
    """
    hub: Hub = request.app.state.hub
    row = await _row(request, caller, namespace, name, uid)
    need = Need(namespace, name, with_lines=True)
    await need.check(caller)
    workers.require(row, hub.index.pods(row.uid), worker)
    choice = Choice(worker=workers.number(worker), container=container)
    await _require_container(hub, row, choice)
    tenant = callers.tenant_of(caller.user)
    # Also without an id: whoever follows too much has to be told before the answer begins.
    if hub.has_ended(row, choice, tenant, last_event_id):
        return Response(status_code=204)
    request_id = requestids.of(request.scope)

    def begin(permit: Permit) -> AsyncGenerator[bytes, None]:
        return followers.lines(hub, row, choice, tenant, last_event_id, permit, request_id)

    return _streamed(hub, request, caller, need, begin)


@router.get("/{name}/status/stream", responses=_responses(_STATUS + _END), response_class=StreamingResponse)
async def statuses(
    name: JobName,
    namespace: Place,
    caller: CurrentCaller,
    request: Request,
    uid: Uid = "",
    last_event_id: LastId = "",
) -> Response:
    """Follow the states of a job: events `status`, and at last `end` with the verdict."""
    hub: Hub = request.app.state.hub
    need = Need(namespace, name, with_lines=False)
    await need.check(caller)
    row = await _row(request, caller, namespace, name, uid)
    if last_event_id == followers.end_id(row):
        return Response(status_code=204)
    request_id = requestids.of(request.scope)

    def begin(permit: Permit) -> AsyncGenerator[bytes, None]:
        return followers.statuses(hub, row, last_event_id, permit, request_id)

    return _streamed(hub, request, caller, need, begin)


async def _row(request: Request, caller: Caller, namespace: str, name: str, uid: str) -> Row:
    """The job to follow, as it is there now; by uid also one that is gone. Raises 404."""
    history: Store = request.app.state.history
    index: Index = request.app.state.index
    try:
        job = await caller.client.get(TRAINJOBS, name, namespace)
    except faults.NotFound:
        if not uid:
            raise
    else:
        index.learn(job)  # whose watch may not have told of it yet: it would pass for deleted
        if uid in ("", text(job, "metadata", "uid")):
            return rows.row(job)
    kept = history.find(uid)
    covers = await namesakes.covers(request, caller, namespace)
    if kept is None or (kept.namespace, kept.name) != (namespace, name) or not covers(kept):
        raise Problem(404, f'no job "{name}" with that uid is there or kept', field="uid")
    return kept.row


async def _require_container(hub: Hub, row: Row, choice: Choice) -> None:
    """Raises 404 for a container a finished job never had; before that it may still come."""
    known = {one.name for pod in hub.index.pods(row.uid) for one in pod.containers}
    if not choice.container or choice.container in known or not row.is_finished:
        return
    if not await hub.attic.runs(row, choice):
        raise Problem(404, "container: no lines of such a container are there or kept", field="container")


def _streamed(hub: Hub, request: Request, caller: Caller, need: Need, begin: Begin) -> StreamingResponse:
    """The stream, for as long as the caller may follow it."""
    token, tenant = request.headers.get("authorization", ""), callers.tenant_of(caller.user)
    hub.require_room(tenant)

    async def body() -> AsyncIterator[bytes]:
        with hub.counted(tenant):
            async with hub.permits.held(token, caller, need) as permit, aclosing(begin(permit)) as events:
                async for piece in events:
                    yield piece

    # Proxies must neither keep nor gather what is meant for now.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(body(), media_type=MEDIA, headers=headers)
