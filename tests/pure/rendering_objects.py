"""Requests for jobs in tests, and what is rendered of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pydantic import ValidationError

from trainshed.backend import problems
from trainshed.backend.models.requests import CreateRequest
from trainshed.backend.rendering import naming, trainjob
from trainshed.backend.rendering.trainjob import Rendered
from trainshed.backend.rendering.unacceptable import Unacceptable
from trainshed.backend.rendering.wanted import Wanted
from trainshed.jobs.dialects import Dialect
from trainshed.kinds.trainer import runtimes
from trainshed.kube.objects import JSON, Object

NAME = "user123-job-20251105130000"
MOMENT = datetime(2025, 11, 5, 13, 0, 0)


def a_body(**more: JSON) -> Object:
    body = {"user_id": "user123", "namespace": "user-123", "framework": "pytorch", "training_code": "pass\n"}
    return {key: value for key, value in {**body, **more}.items() if value is not None}


def wanted(body: Object) -> Wanted:
    """Checked, and with its runtime beside it, as the service looks it up."""
    found = CreateRequest.model_validate(body).wanted({})
    return replace(found, base=base_of(found))


def base_of(found: Wanted) -> Object | None:
    return next((obj for obj in runtimes.manifests() if obj["metadata"]["name"] == found.runtime), None)


def rendered(body: Object, dialect: Dialect = "v2.2") -> Rendered:
    found = wanted(body)
    return trainjob.render(found, found.name or naming.job_name(found.user, MOMENT), dialect)


def outcome(body: Object) -> Rendered | Unacceptable:
    """What is rendered, or the refusal with the field it names, be it of the model or of what comes after."""
    try:
        return rendered(body)
    except Unacceptable as refused:
        return refused
    except ValidationError as refused:
        first = refused.errors(include_url=False)[0]
        return Unacceptable(problems.field_path(first["loc"]), first["msg"])


def effective_runtime(body: Object, found: Rendered) -> Object:
    """The runtime the TrainJob refers to."""
    runtime = found.runtime or base_of(wanted(body))
    assert runtime is not None
    return runtime
