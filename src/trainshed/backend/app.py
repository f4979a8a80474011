"""The service put together: routes, what surrounds them, and how each kind of error becomes an answer."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

import trainshed
from trainshed.backend import problems, requestids
from trainshed.backend.accesslog import AccessLog
from trainshed.backend.creating import Creator
from trainshed.backend.limits import BodyLimit, Rates
from trainshed.backend.metrics import ApiMetrics, Measured
from trainshed.backend.numbers import Numbers
from trainshed.backend.plane import Plane
from trainshed.backend.problems import Problem
from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable
from trainshed.backend.settings import Settings
from trainshed.client.failures import Failure
from trainshed.kube.faults import Fault

Life = Callable[[FastAPI], AbstractAsyncContextManager[None]]
"""Something that runs for as long as the service does; what routes need of it, it puts on `app.state`."""

ROUTES = (
    "health",
    "docs",
    "whoami",
    "contract",
    "preview",
    "runtimes",
    "presets",
    "changes",
    "listing",
    "detail",
    "logs",
    "streams",
    "history",
    "tenants",
    "tokens",
    "metrics",
)
"""Files of `routes`, in the order of the OpenAPI document."""
LIVES: tuple[str, ...] = ("janitor", "index", "metrics", "history", "following")
"""Modules of this package with a `lifespan(app)`, in the order they start."""

_ABOUT = "Training code and a few numbers in, a running TrainJob out. Every call is made as its caller."


def build(settings: Settings, plane: Plane) -> FastAPI:
    """The service; the plane is closed with it."""
    registry = CollectorRegistry()
    measured = Middleware(Measured, metrics=ApiMetrics(registry))
    app = FastAPI(
        title="Trainshed",
        version=trainshed.__version__,
        description=_ABOUT,
        lifespan=_lifespan,
        middleware=[measured, Middleware(AccessLog), Middleware(BodyLimit, settings=settings)],
        redirect_slashes=False,
        docs_url=None,  # these pages load scripts from the internet; `routes.docs` has one that does not
        redoc_url=None,
    )
    app.state.settings, app.state.plane, app.state.registry = settings, plane, registry
    app.state.rates = Rates(settings.rate_per_second, settings.rate_burst)
    app.state.creator = Creator(plane, settings, Numbers())
    app.state.ending = asyncio.Event()
    """Set when the service was asked to end: streams end then, so that their requests can."""
    for name in ROUTES:
        if importlib.util.find_spec(f"trainshed.backend.routes.{name}"):
            app.include_router(importlib.import_module(f"trainshed.backend.routes.{name}").router)
    _handle_errors(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(app.state.plane.close)
        for life in _lives():
            await stack.enter_async_context(life(app))
        yield


def _lives() -> list[Life]:
    found = [name for name in LIVES if importlib.util.find_spec(f"trainshed.backend.{name}")]
    modules = [importlib.import_module(f"trainshed.backend.{name}") for name in found]
    return [module.lifespan for module in modules if hasattr(module, "lifespan")]


# --- errors -------------------------------------------------------------------------------------------------


def _handle_errors(app: FastAPI) -> None:
    app.add_exception_handler(Problem, _told(lambda error: cast(Problem, error)))
    app.add_exception_handler(Unacceptable, _told(lambda error: _of_unacceptable(cast(Unacceptable, error))))
    app.add_exception_handler(Fault, _told(lambda error: problems.of_fault(cast(Fault, error))))
    app.add_exception_handler(Failure, _told(lambda error: problems.of_failure(cast(Failure, error))))
    app.add_exception_handler(HTTPException, _told(lambda error: _of_http(cast(HTTPException, error))))
    app.add_exception_handler(
        RequestValidationError,
        _told(lambda error: problems.of_validation(cast(RequestValidationError, error).errors())),
    )


def _told(problem_of: Callable[[Exception], Problem]) -> Callable[[Request, Exception], Response]:
    def tell(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        body = problem.body(requestids.of(request.scope))
        return JSONResponse(body, problem.status, headers=problem.headers)

    return tell


def _of_unacceptable(error: Unacceptable) -> Problem:
    status = 413 if isinstance(error, TooLarge) else 422
    return Problem(status, str(error), field=error.field, hint=error.hint or None)


def _of_http(error: HTTPException) -> Problem:
    """What the framework itself refuses: unknown paths, wrong methods, bodies it cannot read."""
    if isinstance(error.__cause__, Problem):
        return error.__cause__  # raised while the framework read the body
    words = {404: "there is no such path", 405: "that path does not take this method"}
    message = words.get(error.status_code, str(error.detail))
    hint = "see /docs for what there is" if error.status_code in words else None
    return Problem(error.status_code, message, hint=hint, headers=error.headers)
