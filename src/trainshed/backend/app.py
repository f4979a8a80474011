"""The service put together: routes, what surrounds them, and what runs beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.middleware import Middleware

import trainshed
from trainshed.backend import (
    errors,
    following,
    history,
    index,
    janitor,
    metrics,
    routes,
    shownulls,
    systemmaps,
)
from trainshed.backend.accesslog import AccessLog
from trainshed.backend.creating import Creator
from trainshed.backend.identities import Identities
from trainshed.backend.index import Index
from trainshed.backend.limits import BodyLimit, Rates
from trainshed.backend.metrics import ApiMetrics, Measured
from trainshed.backend.numbers import Numbers
from trainshed.backend.plane import Plane
from trainshed.backend.routes.summaries import SUMMARIES
from trainshed.backend.settings import Settings
from trainshed.backend.systemmaps import SystemMaps
from trainshed.kube.objects import Object

Life = Callable[[FastAPI], AbstractAsyncContextManager[None]]
"""Something that runs for as long as the service does; what routes need of it, it puts on `app.state`."""

LIVES: tuple[Life, ...] = (
    janitor.lifespan,
    systemmaps.lifespan,
    index.lifespan,
    metrics.lifespan,
    history.lifespan,
    following.lifespan,
)
"""In the order they start; they end in the opposite one."""

_ABOUT = "Training code and a few numbers in, a running TrainJob out. Every call is made as its caller."


class Service(FastAPI):
    def openapi(self) -> Object:
        """The document; FastAPI has problems of a stream in its media type, but they come as JSON."""
        is_new = self.openapi_schema is None
        document: Object = super().openapi()
        if is_new:
            shownulls.restore(document)
        for name, operation in _operations(document).items() if is_new else ():
            operation["summary"] = SUMMARIES.get(name, operation.get("summary", name))
            for status, answer in operation["responses"].items():
                if int(status) >= 400 and (content := answer.get("content")):
                    told = {name: part for media in content.values() for name, part in media.items()}
                    answer["content"] = {"application/json": told}
        return document


def _operations(document: Object) -> dict[str, Object]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def build(settings: Settings, plane: Plane) -> FastAPI:
    """The service; the plane is closed with it."""
    registry = CollectorRegistry()
    measured = Middleware(Measured, metrics=ApiMetrics(registry))
    app = Service(
        title="Trainshed",
        version=trainshed.__version__,
        description=_ABOUT,
        lifespan=_lifespan,
        middleware=[measured, Middleware(AccessLog), Middleware(BodyLimit, settings=settings)],
        routes=routes.every(),
        redirect_slashes=False,
        docs_url=None,  # these pages load scripts from the internet; `routes.docs` has one that does not
        redoc_url=None,
    )
    app.state.settings, app.state.plane, app.state.registry = settings, plane, registry
    app.state.identities = Identities()
    app.state.rates = Rates(settings.rate_per_second, settings.rate_burst)
    app.state.index = Index()
    app.state.creator = Creator(plane, settings, Numbers(), SystemMaps(), app.state.index.learn)
    app.state.down = dict[str, str]()
    """The background tasks that do not work at present, with the reason."""
    app.state.ending = asyncio.Event()
    """Set when the service was asked to end: streams end then, so that their requests can."""
    errors.handle(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(app.state.plane.close)
        for life in LIVES:
            await stack.enter_async_context(life(app))
        yield
