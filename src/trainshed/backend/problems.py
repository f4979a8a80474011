"""What a caller is told when something goes wrong: one body for everything, from a wrong field to no answer.

Kubernetes' own refusals keep their code and words; nothing here ever carries a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from pydantic import BaseModel, Field

from trainshed.client.failures import ConnectionFailure, Failure, TimedOut, UnknownKind
from trainshed.kube import faults
from trainshed.kube.faults import Fault
from trainshed.kube.objects import JSON

Code = Literal[
    "bad_request",
    "unauthorized",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "conflict",
    "too_large",
    "unsupported_media_type",
    "invalid",
    "too_many_requests",
    "quota_exceeded",
    "unavailable",
    "internal",
]
_CODES: Mapping[int, Code] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    410: "not_found",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}
_LONGEST_MESSAGE = 2000


class ProblemBody(BaseModel):
    """Every error of this service."""

    code: Code = Field(description="What kind of problem it is, for programs.", examples=["not_found"])
    message: str = Field(description="What went wrong, for people.")
    field: str | None = Field(default=None, description="The field or parameter it is about.")
    hint: str | None = Field(default=None, description="What to do about it.")
    request_id: str = Field(description="Also in the header X-Request-ID and in the service's log.")


class Problem(Exception):
    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: Code | None = None,
        field: str | None = None,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.code: Code = code or code_of(status)
        self.field, self.hint, self.headers = field, hint, dict(headers or {})

    def body(self, request_id: str) -> dict[str, JSON]:
        return {
            "code": self.code,
            "message": self.message[:_LONGEST_MESSAGE],
            "field": self.field,
            "hint": self.hint,
            "request_id": request_id,
        }


def code_of(status: int) -> Code:
    return _CODES.get(status) or ("bad_request" if 400 <= status < 500 else "internal")


def invalid(field: str, message: str, hint: str | None = None) -> Problem:
    return Problem(422, message, field=field, hint=hint)


def not_found(what: str, hint: str | None = None) -> Problem:
    return Problem(404, f"there is no {what}", hint=hint)


def of_fault(fault: Fault) -> Problem:
    """What the Kubernetes API refused, in its words and with its code."""
    if isinstance(fault, faults.Forbidden) and "exceeded quota" in fault.message:
        hint = "delete finished jobs, ask for less, or have the quota raised"
        return Problem(403, fault.message, code="quota_exceeded", hint=hint)
    if isinstance(fault, faults.Unauthorized):
        hint = "get another one: trainshed token, or POST /api/tenants/{tenant}/tokens"
        return unauthorized("the token is not valid (any more)", hint)
    if faults.is_unserved(fault):
        return _lacking(fault.message)
    if fault.code >= 500:
        return Problem(503, f"the Kubernetes API has trouble: {fault.message}", hint="try again in a moment")
    status = 404 if isinstance(fault, faults.Gone | faults.Expired) else fault.code
    headers = {"Retry-After": str(fault.retry_after)} if fault.retry_after else None
    return Problem(status, fault.message, field=_field(fault), headers=headers)


def of_failure(failure: Failure) -> Problem:
    """Nobody answered, or not in a way that makes sense."""
    if isinstance(failure, UnknownKind):
        return _lacking(str(failure))
    status = 504 if isinstance(failure, TimedOut) else 503
    if isinstance(failure, ConnectionFailure):
        # The address of the API server is nobody's business who calls us.
        return Problem(status, "the Kubernetes API does not answer", hint="try again in a moment")
    return Problem(status, "the Kubernetes API cannot be reached as this service is set up")


def _lacking(why: str) -> Problem:
    hint = "install Kubeflow Trainer there, or point the service at another cluster"
    return Problem(503, f"the cluster lacks a kind this needs: {why}", hint=hint)


def unauthorized(message: str, hint: str = "send the header Authorization: Bearer <token>") -> Problem:
    return Problem(401, message, hint=hint, headers={"WWW-Authenticate": "Bearer"})


def field_path(names: Sequence[str | int]) -> str:
    """`volumes[0].pvc` of ("volumes", 0, "pvc")."""
    path = ""
    for name in names:
        path += f"[{name}]" if isinstance(name, int) else f".{name}" if path else str(name)
    return path[:200]


def _field(fault: Fault) -> str | None:
    return next((cause.field for cause in fault.causes if cause.field), None)


def responses(*statuses: int) -> dict[int | str, dict[str, JSON]]:
    """The problems of a route for its OpenAPI entry, beside those every route has."""
    return {status: response(status) for status in sorted({401, 403, 422, 429, 500, 503, 504, *statuses})}


def response(status: int) -> dict[str, JSON]:
    body = _SHOWN[status].body("7ba9aac6069ee371")
    content = {"application/json": {"example": body}}
    return {"model": ProblemBody, "description": _WORDS[status], "content": content}


_WORDS: Mapping[int, str] = {
    400: "The request is not understood.",
    401: "No token, or one that is not valid.",
    403: "Kubernetes does not allow it to this caller, or a quota is used up.",
    404: "There is no such object.",
    409: "It is there already, or it has changed meanwhile.",
    413: "The body, or the code in it, is too large.",
    415: "The body is not in a form this route takes.",
    422: "A field is not right; the answer names it.",
    429: "Too many requests; see the header Retry-After.",
    500: "A fault of this service.",
    503: "The Kubernetes API does not answer.",
    504: "The Kubernetes API did not answer in time.",
}
_MOMENT = "try again in a moment"
_SHOWN: Mapping[int, Problem] = {
    problem.status: problem
    for problem in (
        Problem(400, "that is no HTTP request", hint="speak HTTP/1.1"),
        unauthorized("no token was sent"),
        Problem(
            403,
            'trainjobs.trainer.kubeflow.org is forbidden: User "system:serviceaccount:user-123:tenant" cannot'
            ' create resource "trainjobs" in API group "trainer.kubeflow.org" in the namespace "user-456"',
        ),
        not_found(
            'job "user123-job-20251105130000" in namespace "user-123"', "GET /api/history has deleted ones"
        ),
        Problem(
            409,
            "idempotency_key: it was used for another request",
            field="idempotency_key",
            hint="use a new key for a new job",
        ),
        Problem(
            413,
            "training_code: has 1100 KiB, more than the 900 KiB of a ConfigMap",
            field="training_code",
            hint="give the code by git, or put it on a volume and name that in volumes",
        ),
        Problem(415, "the body is not in a form this route takes", field="body", hint="send JSON"),
        invalid("config.num_nodes", "config.num_nodes: must be at least 1"),
        Problem(429, "too many requests: more than 50 a second", hint="wait as the header Retry-After says"),
        Problem(500, "this service has a fault; the log says more"),
        Problem(503, "the Kubernetes API does not answer", hint=_MOMENT),
        Problem(504, "the Kubernetes API does not answer", hint=_MOMENT),
    )
}
"""What such an answer looks like."""
assert set(_SHOWN) == set(_WORDS)
assert set(_CODES.values()) | {"quota_exceeded", "internal"} == set(get_args(Code))
