"""Logs: the contract's answer, all workers or one, earlier attempts, parts of them, and downloads."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse

from trainshed.backend import downloads, problems, rows
from trainshed.backend.caller import CurrentCaller, Place
from trainshed.backend.joblines import texts
from trainshed.backend.joblines.runs import LAUNCHER, Choice
from trainshed.backend.joblines.texts import Found, Wish
from trainshed.backend.joblogs import MOST_BYTES, JobLogs, Part
from trainshed.backend.models.contract import Logs
from trainshed.backend.models.joblogs import AllLogs, LogPart
from trainshed.backend.problems import Problem
from trainshed.backend.routes import workers
from trainshed.backend.routes.jobname import JobName
from trainshed.backend.routes.workers import Worker
from trainshed.backend.rows import Row
from trainshed.jobs.summary import TRAINJOBS

router = APIRouter(prefix="/api/trainjob", tags=["logs"])

_LONGEST_SECONDS = 30 * 365 * 24 * 3600
_WAITING = re.compile(r"(?:(?:\S+ )?Server listening on \S+ port \d+\.\s*)+")
"""All that an SSH daemon says by itself."""
TEXT, ZIP = "text/plain; charset=utf-8", "application/zip"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which lines somebody wants."""

    choice: Choice
    previous: bool
    wish: Wish
    most: int


async def asked(
    attempt: Annotated[
        int | None, Query(ge=0, le=1_000_000, description="An earlier start of the whole job, from 0.")
    ] = None,
    container: Annotated[str, Query(max_length=63, description="Another container than the trainer.")] = "",
    role: Annotated[
        str, Query(max_length=63, description="Of launcher, dataset-initializer … instead of the workers.")
    ] = "",
    previous: Annotated[bool, Query(description="The run before the last one.")] = False,
    tail: Annotated[
        int | None, Query(ge=0, le=10_000_000, description="Only so many last lines of each.")
    ] = None,
    since_seconds: Annotated[
        int | None, Query(ge=1, description="Only lines of so many last seconds.")
    ] = None,
    since_time: Annotated[datetime | None, Query(description="Only lines from this time on.")] = None,
    timestamps: Annotated[bool, Query(description="The time before each line.")] = False,
    limit_bytes: Annotated[
        int, Query(ge=1, le=MOST_BYTES, description="At most so much of the end of all of it.")
    ] = MOST_BYTES,
) -> Asked:
    """What of a job's lines is wanted. Raises 422."""
    if since_seconds is not None and since_time is not None:
        raise problems.invalid("since_time", "since_time: since_seconds is given too")
    since = _since(since_seconds, since_time)
    return Asked(Choice(None, attempt, container, role), previous, Wish(tail, since, timestamps), limit_bytes)


def _since(seconds: int | None, moment: datetime | None) -> datetime | None:
    if seconds is not None:
        return datetime.now(UTC) - timedelta(seconds=min(seconds, _LONGEST_SECONDS))
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as wrong:
        raise problems.invalid("since_time", "since_time: no calendar has this time") from wrong


AskedFor = Annotated[Asked, Depends(asked)]


async def job_logs(request: Request, caller: CurrentCaller) -> JobLogs:
    return JobLogs(caller, request.app.state.index, request.app.state.attic)


TheLogs = Annotated[JobLogs, Depends(job_logs)]


# --- the contract's path ------------------------------------------------------------------------------------


@router.get("/{name}/logs", responses=problems.responses(404))
async def logs(
    name: JobName,
    namespace: Place,
    found: TheLogs,
    wanted: AskedFor,
    worker: Annotated[Worker, workers.READ, Query(description="Which worker, from 0; or `all` of them.")] = 0,
) -> Logs | AllLogs:
    """What a worker, or all, wrote in the last run (of a failed job, the last two); up to the last 8 MiB."""
    row = rows.row(await found.caller.client.get(TRAINJOBS, name, namespace))
    return await read_logs(found, row, worker, wanted)


async def read_logs(logs: JobLogs, row: Row, worker: Worker, wanted: Asked) -> Logs | AllLogs:
    """Raises 404 for a worker there is not."""
    every = await logs.found(row)
    if worker == "all":
        return all_logs(row, await read_parts(logs, row, chosen(row, every, wanted), wanted))
    mine = [one for one in every if one.run.worker == worker]
    picked = chosen(
        row, mine if wanted.choice.container or wanted.choice.role else texts.of_one_worker(mine), wanted
    )
    if not picked:
        _require(row, worker, wanted)
    parts = await read_parts(logs, row, picked, wanted)
    return Logs(trainjob_name=row.name, worker=worker, logs="".join(part.text for part in _telling(parts)))


def _telling(parts: Sequence[Part]) -> list[Part]:
    """Beside a launcher a worker that only waits to be called has nothing to tell."""
    if not any(part.run.role == LAUNCHER for part in parts):
        return [*parts]
    return [part for part in parts if not _WAITING.fullmatch(part.text)]


def chosen(row: Row, every: Sequence[Found], wanted: Asked) -> list[Found]:
    return texts.chosen(every, wanted.choice, previous=wanted.previous, failed=row.phase == "Failed")


def _require(row: Row, worker: int, wanted: Asked) -> None:
    """A worker that has not begun has written nothing; one there is not is a mistake."""
    if worker >= row.nodes and not wanted.choice.role:
        raise workers.missing(row)
    if wanted.previous:
        raise Problem(404, "previous: there was no run before the last one", field="previous")
    if wanted.choice.attempt is not None:
        raise Problem(404, "attempt: no lines of such an attempt are there or kept", field="attempt")
    if wanted.choice.container:
        raise Problem(404, "container: no lines of such a container are there or kept", field="container")


async def read_parts(logs: JobLogs, row: Row, found: Sequence[Found], wanted: Asked) -> list[Part]:
    return [part async for part in logs.read(row, found, wanted.wish, wanted.most)]


def all_logs(row: Row, parts: Sequence[Part]) -> AllLogs:
    together = "".join(_labelled(part) for part in parts)
    return AllLogs(trainjob_name=row.name, logs=together, parts=[log_part(part) for part in parts])


def log_part(part: Part) -> LogPart:
    return LogPart(**part.run.about(), logs=part.text, truncated=part.is_cut)


def _labelled(part: Part) -> str:
    lines = part.text.removesuffix("\n").split("\n") if part.text else []
    return "".join(f"[{part.run.label}] {line}\n" for line in lines)


# --- downloads ----------------------------------------------------------------------------------------------


@router.get(
    "/{name}/logs/download",
    responses={
        200: {
            "description": "All lines of all workers and attempts, or of those asked for.",
            "content": {
                "text/plain": {"schema": {"type": "string"}, "example": "==> worker 0 <==\nEpoch 1/3\n"},
                ZIP: {"schema": {"type": "string", "format": "binary"}},
            },
        },
        **problems.responses(404),
    },
    response_class=StreamingResponse,
)
async def download(
    name: JobName,
    namespace: Place,
    found: TheLogs,
    wanted: AskedFor,
    worker: Annotated[Worker, workers.READ, Query(description="One worker; all unless given.")] = "all",
    format: Annotated[
        Literal["text", "zip"], Query(description="One text, or a file for each run.")
    ] = "text",
) -> StreamingResponse:
    """Everything the workers have written, streamed: however much it is."""
    row = rows.row(await found.caller.client.get(TRAINJOBS, name, namespace))
    return downloaded(found, row, await found.found(row), workers.number(worker), wanted, format)


def downloaded(
    logs: JobLogs, row: Row, every: Sequence[Found], worker: int | None, wanted: Asked, format: str
) -> StreamingResponse:
    picked = [one for one in every if worker in (None, one.run.worker) and wanted.choice.takes(one.run)]
    if wanted.previous:
        picked = texts.newest(picked, previous=True)

    def opened(one: Found) -> AsyncIterator[bytes]:
        return logs.open(row, one, wanted.wish)

    body = downloads.zipped(picked, opened) if format == "zip" else downloads.plain(picked, opened)
    ending, media = ("zip", ZIP) if format == "zip" else ("log", TEXT)
    headers = {
        "Content-Disposition": f'attachment; filename="{row.name}.{ending}"',
        "Cache-Control": "no-store",
    }
    return StreamingResponse(body, media_type=media, headers=headers)
