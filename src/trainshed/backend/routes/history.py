"""Jobs that have finished or were deleted, and what is left of their lines."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from trainshed.backend import details, pages, paging, problems
from trainshed.backend.caller import CurrentCaller
from trainshed.backend.following.permits import TRAINER
from trainshed.backend.history.records import Entry
from trainshed.backend.history.store import Store, everything
from trainshed.backend.models.joblogs import HistoryLogs
from trainshed.backend.models.jobs import HistoryDetail, HistoryPage
from trainshed.backend.routes import namesakes, workers
from trainshed.backend.routes.listing import JSON_MEDIA, Chosen, Continue, Limit, Scope, answer
from trainshed.backend.routes.logs import AskedFor, TheLogs, chosen, log_part, read_parts
from trainshed.backend.routes.workers import Worker
from trainshed.kube.objects import encode

router = APIRouter(prefix="/api/history", tags=["history"])


def the_history(request: Request) -> Store:
    found: Store = request.app.state.history
    return found


@router.get("", responses=problems.responses(), response_model=HistoryPage)
async def ended(
    request: Request,
    caller: CurrentCaller,
    place: Scope,
    wanted: Chosen,
    limit: Limit = 50,
    token: Continue = "",
) -> Response:
    """Jobs that have ended or were deleted, the last one first. How far back is bounded."""
    covers = everything if place is None else await namesakes.covers(request, caller, place)
    try:
        return answer(the_history(request).page(place, wanted, token, limit, covers), pages.ended)
    except paging.WrongToken as wrong:
        raise problems.invalid("continue", f"continue: {wrong}") from wrong


async def entry(
    request: Request,
    caller: CurrentCaller,
    uid: Annotated[str, Path(max_length=64, examples=["0b8f4c1e-52c0-4f0e-9d5b-0d8f2f1f7a11"])],
) -> Entry:
    """A job of the history the caller may see; whoever may not is told that there is none."""
    found = the_history(request).find(uid)
    if found is None or not await caller.may("get", "trainjobs", found.namespace, found.name, group=TRAINER):
        raise problems.not_found("job with that uid")
    if not (await namesakes.covers(request, caller, found.namespace))(found):
        raise problems.not_found("job with that uid")
    return found


TheEntry = Annotated[Entry, Depends(entry)]


@router.get("/{uid}", responses=problems.responses(404), response_model=HistoryDetail)
async def detail(found: TheEntry, caller: CurrentCaller, request: Request) -> Response:
    """All that is left of a job: verdict, times, pods, attempts, events."""
    body = await details.of_history(caller, the_history(request), found, datetime.now(UTC))
    if body is None:
        raise problems.not_found("job with that uid")
    return Response(encode(body), media_type=JSON_MEDIA)


@router.get("/{uid}/logs", responses=problems.responses(404))
async def logs(
    found: TheEntry,
    logs: TheLogs,
    wanted: AskedFor,
    worker: Annotated[Worker, workers.READ, Query(description="One worker; all unless given.")] = "all",
) -> HistoryLogs:
    """What is left of a job's lines: of each container the last run, unless an attempt is asked for."""
    row = found.row
    every = await logs.found(row, is_there=not found.deleted)
    mine = [one for one in every if worker in ("all", one.run.worker)]
    if not mine and worker != "all" and worker >= row.nodes:
        raise workers.missing(row)
    parts = await read_parts(logs, row, chosen(row, mine, wanted), wanted)
    return HistoryLogs(uid=row.uid, trainjob_name=row.name, parts=[log_part(part) for part in parts])
