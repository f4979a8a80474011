"""How each kind of error becomes an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from trainshed.backend import problems, requestids, validation
from trainshed.backend.problems import Problem
from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable
from trainshed.client.failures import Failure
from trainshed.kube import faults
from trainshed.kube.faults import Fault

_UNREADABLE = "There was an error parsing the body"
"""All that the framework says of a body it cannot read at all."""


def handle(app: FastAPI) -> None:
    """Have every error answered by the one body."""
    app.add_exception_handler(Problem, _told(lambda error: cast(Problem, error)))
    app.add_exception_handler(Unacceptable, _told(lambda error: _of_unacceptable(cast(Unacceptable, error))))
    app.add_exception_handler(Fault, _tell_fault)
    app.add_exception_handler(Failure, _told(lambda error: problems.of_failure(cast(Failure, error))))
    app.add_exception_handler(HTTPException, _told(lambda error: _of_http(cast(HTTPException, error))))
    app.add_exception_handler(
        RequestValidationError,
        _told(lambda error: validation.problem(cast(RequestValidationError, error).errors())),
    )


def _told(problem_of: Callable[[Exception], Problem]) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def tell(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        body = problem.body(requestids.of(request.scope))
        return JSONResponse(body, problem.status, headers=problem.headers)

    return tell


async def _tell_fault(request: Request, error: Exception) -> Response:
    """A job that is not there is told with where it was looked for: the caller may not have said it."""
    fault, place = cast(Fault, error), str(getattr(request.state, "place", ""))
    problem = problems.of_fault(fault)
    if isinstance(fault, faults.NotFound) and fault.kind == "trainjobs" and fault.name and place:
        hint = (
            "give ?namespace=… if it is in another one; GET /api/history has those that were deleted;"
            " only TrainJobs are known here: PyTorchJobs and the like are shown by trainshed get"
        )
        problem = Problem(404, f'there is no job "{fault.name}" in namespace "{place}"', hint=hint)
    body = problem.body(requestids.of(request.scope))
    return JSONResponse(body, problem.status, headers=problem.headers)


def _of_unacceptable(error: Unacceptable) -> Problem:
    status = 413 if isinstance(error, TooLarge) else 422
    return Problem(status, str(error), field=error.field, hint=error.hint or None)


def _of_http(error: HTTPException) -> Problem:
    """What the framework itself refuses: unknown paths, wrong methods, bodies it cannot read."""
    if isinstance(error.__cause__, Problem):
        return error.__cause__  # raised while the framework read the body
    if error.detail == _UNREADABLE:
        is_no_utf8 = isinstance(error.__cause__, UnicodeDecodeError)
        advice = "send it as UTF-8" if is_no_utf8 else "nest it less deeply, with fewer digits in numbers"
        return Problem(422, "body: it cannot be read", field="body", hint=advice)
    if error.status_code == 400:  # a form that is none
        return problems.invalid("body", f"body: {error.detail}")
    words = {404: "there is no such path", 405: "that path does not take this method"}
    message = words.get(error.status_code, str(error.detail))
    hint = "see /docs for what there is" if error.status_code in words else None
    return Problem(error.status_code, message, hint=hint, headers=error.headers)
