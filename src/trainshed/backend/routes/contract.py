"""The contract with platforms: create, status, logs, delete, with exactly the fields they know."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated

from fastapi import APIRouter, File, Form, Header, Request, UploadFile
from pydantic import ValidationError

from trainshed.backend import idempotency, problems, uploads, validation
from trainshed.backend.admission import AdmittedRoute
from trainshed.backend.caller import Caller, CurrentCaller, JudgedCaller, Place, the_settings
from trainshed.backend.creating import Creator
from trainshed.backend.making import TRAINJOBS
from trainshed.backend.models.contract import Created, Deleted, Status
from trainshed.backend.models.requests import CreateRequest
from trainshed.backend.rendering import sources
from trainshed.backend.rendering.wanted import Wanted
from trainshed.backend.routes.jobname import JobName
from trainshed.client.requests import Delete
from trainshed.jobs import summary
from trainshed.kube.objects import JSON, Object, encode, text

UPLOAD: Object = {"user_id": "user123", "namespace": "user-123", "framework": "pytorch", "num_nodes": 2}
_PART_HINT = "the form's part `request` is the body of /create as JSON, without code"
router = APIRouter(prefix="/api/trainjob", tags=["training jobs"], route_class=AdmittedRoute)


IdempotencyKey = Annotated[
    str | None,
    Header(max_length=256, description="Makes retries safe: the same key and body mean the same job."),
]


@router.post("/create", responses=problems.responses(404, 409, 413))
async def create(
    body: CreateRequest, caller: JudgedCaller, request: Request, idempotency_key: IdempotencyKey = None
) -> Created:
    """Make the system ConfigMap where it is missing, the code's ConfigMap and the TrainJob, as the caller."""
    settings = the_settings(request)
    wanted = body.wanted(settings.presets, most_bytes=settings.max_code_bytes)
    given = body.idempotency_key or idempotency_key or ""
    return await made(request, caller, wanted, given, _said(body) if given else None)


@router.post("/upload", responses=problems.responses(404, 409, 413))
async def upload(
    archive: Annotated[UploadFile, File(description="A zip with the code; train.py or main.py is run.")],
    sent: Annotated[
        str,
        Form(
            alias="request",
            description="The body of /create as JSON, without code.",
            examples=[encode(UPLOAD).decode()],
        ),
    ],
    caller: JudgedCaller,
    request: Request,
    idempotency_key: IdempotencyKey = None,
) -> Created:
    """The same as /create, with the code as a zip archive."""
    settings = the_settings(request)
    body = _read(sent)
    data = await archive.read()
    contents = await asyncio.to_thread(uploads.unpacked, data, settings.max_code_bytes)
    files = sources.files(uploads.FIELD, contents, must_start=not body.command, most=settings.max_code_bytes)
    said = [_said(body), hashlib.sha256(data).hexdigest()]
    key = body.idempotency_key or idempotency_key or ""
    return await made(request, caller, body.wanted(settings.presets, files), key, said)


def _said(body: CreateRequest) -> JSON:
    return body.model_dump(mode="json", exclude={"idempotency_key"})


def _read(sent: str) -> CreateRequest:
    try:
        return CreateRequest.model_validate_json(sent)
    except ValidationError as wrong:
        errors = [{**error, "loc": ("body", *error["loc"])} for error in wrong.errors(include_url=False)]
        raise validation.problem(errors, whole="request", hint=_PART_HINT) from wrong


async def made(request: Request, caller: Caller, wanted: Wanted, given: str, said: JSON) -> Created:
    """Create the job; `said` is the body by which a retry with the same key is known."""
    creator: Creator = request.app.state.creator
    key = idempotency.key_of(caller.user, given, said) if given else None
    return created(await creator.create(caller, wanted, key))


def created(job: Object) -> Created:
    return Created(
        trainjob_name=text(job, "metadata", "name"),
        namespace=text(job, "metadata", "namespace"),
        created_at=text(job, "metadata", "creationTimestamp"),
    )


@router.get("/{name}/status", responses=problems.responses(404))
async def status(name: JobName, namespace: Place, caller: CurrentCaller) -> Status:
    """How the job is, in three words: Running, Complete, Failed."""
    job = await caller.client.get(TRAINJOBS, name, namespace)
    return status_of(job)


def status_of(job: Object) -> Status:
    found = summary.summarize(job)
    finished = f"{found.finished:%Y-%m-%dT%H:%M:%SZ}" if found.finished and found.is_finished else None
    return Status(
        trainjob_name=found.name,
        state="Complete" if found.state == "Complete" else "Failed" if found.state == "Failed" else "Running",
        message=found.verdict or _WORDS.get(found.state, found.state),
        created_at=text(job, "metadata", "creationTimestamp"),
        completed_at=finished,
    )


_WORDS = {"Pending": "the job was accepted and has not started yet", "Running": "the job is running"}


@router.delete("/{name}", responses=problems.responses(404, 409))
async def delete(name: JobName, namespace: Place, caller: CurrentCaller) -> Deleted:
    """Delete the job; its pods and its code go with it, the system ConfigMap stays for others."""
    job = await caller.client.get(TRAINJOBS, name, namespace)
    only = Delete(propagation="Background", uid=text(job, "metadata", "uid"))
    await caller.client.delete(TRAINJOBS, name, namespace, only)
    return Deleted(trainjob_name=name, namespace=namespace)
