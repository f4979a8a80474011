"""What a job would become: all objects, each line with its origin, what looks wrong. Nothing is made."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

from fastapi import APIRouter, Request

from trainshed.backend import basing, previewing, problems
from trainshed.backend import caller as callers
from trainshed.backend.admission import AdmittedRoute
from trainshed.backend.caller import Caller, CurrentCaller, the_plane, the_settings
from trainshed.backend.models.previews import PreviewAnswer, PreviewRequest
from trainshed.backend.plain import plain
from trainshed.backend.previewing import Shapes
from trainshed.backend.rendering import naming, trainjob
from trainshed.controllers.trainjob import shapes
from trainshed.controllers.trainjob.lints import Lint
from trainshed.controllers.trainjob.preview import Preview
from trainshed.kube.objects import Object, text

router = APIRouter(prefix="/api/trainjob", tags=["training jobs"], route_class=AdmittedRoute)
_CACHE = "schemas"
_ALONE = ("manifest", "runtime_manifest", "namespace")


def the_shapes(request: Request) -> Shapes:
    if not hasattr(request.app.state, "shapes"):
        settings = the_settings(request)
        request.app.state.shapes = Shapes(settings.data / _CACHE if settings.data else None)
    found: Shapes = request.app.state.shapes
    return found


@router.post("/preview", responses=problems.responses(404, 413))
async def preview(body: PreviewRequest, caller: CurrentCaller, request: Request) -> PreviewAnswer:
    """Merge a request or a manifest with its runtime, as the control plane would; say what looks wrong."""
    if body.manifest is not None:
        return previewing.shown(await _of_manifest(body, caller, the_shapes(request)))
    if body.runtime_manifest is not None:
        raise problems.invalid("runtime_manifest", "runtime_manifest goes with manifest")
    settings, plane = the_settings(request), the_plane(request)
    wanted = body.wanted(settings.presets, most_bytes=settings.max_code_bytes)
    place = wanted.namespace or caller.namespace
    runtime = await basing.runtime(caller.client, wanted.runtime_kind, wanted.runtime, place)
    name = wanted.name or naming.job_name(wanted.user, datetime.now(UTC))
    rendered = trainjob.render(dataclasses.replace(wanted, base=runtime), name, await plane.dialect())
    made = [_placed(obj, place) for obj in dataclasses.astuple(rendered) if obj is not None]
    found = previewing.merged(made[-1], rendered.runtime or runtime)
    return previewing.shown(found, made)


def _placed(obj: Object, namespace: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


async def _of_manifest(body: PreviewRequest, caller: Caller, known: Shapes) -> Preview:
    other = next((field for field in sorted(body.model_fields_set) if field not in _ALONE), "")
    if other:
        raise problems.invalid(other, f"{other}: a manifest says everything itself", "leave it out")
    job = plain("manifest", body.manifest)
    if text(job, "kind") != "TrainJob":
        raise problems.invalid("manifest.kind", "manifest.kind must be TrainJob")
    kinds = await known.known()
    job, flaws = shapes.checked(job, kinds)
    if not shapes.is_mergeable(flaws):
        return previewing.refused(flaws)
    runtime, others = await _runtime(body, job, caller, known)
    flaws += others
    return previewing.merged(job, runtime, flaws) if shapes.is_mergeable(flaws) else previewing.refused(flaws)


async def _runtime(
    body: PreviewRequest, job: Object, caller: Caller, known: Shapes
) -> tuple[Object, list[Lint]]:
    if body.runtime_manifest is not None:
        given = plain("runtime_manifest", body.runtime_manifest)
        if text(given, "kind") not in ("ClusterTrainingRuntime", "TrainingRuntime"):
            raise problems.invalid("runtime_manifest.kind", "runtime_manifest.kind must be that of a runtime")
        runtime, lints = shapes.checked(given, await known.known())
        return runtime, previewing.told_of_runtime(runtime, lints)
    place = body.namespace or text(job, "metadata", "namespace") or caller.namespace
    callers.checked_namespace(place)
    ref = text(job, "spec", "runtimeRef", "kind"), text(job, "spec", "runtimeRef", "name")
    callers.checked_name(ref[1], "manifest.spec.runtimeRef.name")
    return await basing.runtime(caller.client, *ref, place, field="manifest.spec.runtimeRef.name"), []
