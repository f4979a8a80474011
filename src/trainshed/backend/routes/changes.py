"""Jobs that exist: let one wait, let it go on, run it again with changes."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from trainshed.backend import problems
from trainshed.backend.admission import AdmittedRoute
from trainshed.backend.caller import Caller, CurrentCaller, Place, the_settings
from trainshed.backend.making import TRAINJOBS
from trainshed.backend.models.changes import RESUMED, Changed, Changes
from trainshed.backend.models.contract import Created
from trainshed.backend.models.requests import CreateRequest
from trainshed.backend.problems import Problem
from trainshed.backend.rendering import forms, naming, recall, sources
from trainshed.backend.rendering.wanted import Files, Wanted
from trainshed.backend.routes.contract import IdempotencyKey, made
from trainshed.backend.routes.jobname import JobName
from trainshed.backend.settings import Settings
from trainshed.backend.systemmaps import CONFIGMAPS
from trainshed.kube.objects import Object, dig, text

router = APIRouter(prefix="/api/trainjob", tags=["training jobs"], route_class=AdmittedRoute)


@router.post("/{name}/suspend", responses=problems.responses(404, 409))
async def suspend(name: JobName, namespace: Place, caller: CurrentCaller) -> Changed:
    """Stop the job's pods and let it wait; it starts from the beginning (or its checkpoint) when resumed."""
    return await _set_suspended(caller, name, namespace, True)


@router.post(
    "/{name}/resume",
    responses={**problems.responses(404, 409), 200: {"content": {"application/json": {"example": RESUMED}}}},
)
async def resume(name: JobName, namespace: Place, caller: CurrentCaller) -> Changed:
    """Let a job that waits go on."""
    return await _set_suspended(caller, name, namespace, False)


async def _set_suspended(caller: Caller, name: str, namespace: str, wanted: bool) -> Changed:
    job = await caller.client.get(TRAINJOBS, name, namespace)
    if recall.is_finished(job):
        raise Problem(409, f'job "{name}" has ended', hint=f"POST /api/trainjob/{name}/rerun starts it again")
    if bool(dig(job, "spec", "suspend")) != wanted:
        uid = text(job, "metadata", "uid")
        changes = {"metadata": {"uid": uid}, "spec": {"suspend": wanted}}
        await caller.client.patch(TRAINJOBS, name, changes, namespace)
    return Changed(trainjob_name=name, namespace=namespace, suspended=wanted)


# --- again --------------------------------------------------------------------------------------------------


@router.post("/{name}/rerun", responses=problems.responses(404, 409, 413))
async def rerun(
    name: JobName,
    namespace: Place,
    caller: CurrentCaller,
    request: Request,
    changes: Changes = None,
    idempotency_key: IdempotencyKey = None,
) -> Created:
    """A new job by the request of an earlier one, with its code and with changes; the earlier one stays."""
    changes = changes or {}
    job = await caller.client.get(TRAINJOBS, name, namespace)
    before = recall.request(job)
    if before is None:
        hint = "POST /api/trainjob/create makes jobs that can be run again"
        raise Problem(409, f'job "{name}" was not made by a request to this service', hint=hint)
    said = {"namespace": namespace, **forms.changed(recall.repeated(before, changes), changes)}
    wanted = await _wanted(caller, job, said, the_settings(request))
    given = said.get("idempotency_key")
    key = given if isinstance(given, str) and given else idempotency_key or ""
    known_by = {"rerun": name, "uid": text(job, "metadata", "uid"), **said}
    return await made(request, caller, wanted, key, known_by)


async def _wanted(caller: Caller, job: Object, said: Object, settings: Settings) -> Wanted:
    most = settings.max_code_bytes
    if any(said.get(name) is not None for name in ("training_code", "files", "git")):
        return _request(said).wanted(settings.presets, most_bytes=most)
    place, name = text(job, "metadata", "namespace"), naming.code_name(text(job, "metadata", "name"))
    config_map = await caller.client.find(CONFIGMAPS, name, place)
    found = recall.files(job, config_map) if config_map else {}
    if not found:
        return _request(said).wanted(settings.presets, most_bytes=most)
    if recall.is_one_script(job) and "train.py" in found:
        script = found["train.py"].decode(errors="replace")
        return _request({**said, "training_code": script}).wanted(settings.presets, most_bytes=most)
    files: Files = sources.files("files", found, must_start=not said.get("command"), most=most)
    return _request(said).wanted(settings.presets, files, most_bytes=most)


def _request(said: Object) -> CreateRequest:
    try:
        return CreateRequest.model_validate(said)
    except ValidationError as wrong:
        errors = [{**error, "loc": ("body", *error["loc"])} for error in wrong.errors(include_url=False)]
        raise RequestValidationError(errors) from None
