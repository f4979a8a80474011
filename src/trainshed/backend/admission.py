"""Routes that take a body: none is read before it is known whose it is, none that keeps others waiting."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from trainshed.backend import caller, limits
from trainshed.kube.objects import JSON

Handler = Callable[[Request], Coroutine[JSON, JSON, Response]]


class AdmittedRoute(APIRoute):
    """The framework reads a body first and asks who calls then; here it is the other way round."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        admit = next((door for door in caller.DOORS if door in _calls(self.dependant)), None)
        if self.body_field is None or admit is None:
            return handle

        async def admitted(request: Request) -> Response:
            request.state.caller = await admit(request, await caller.bearer(request))
            return await handle(_Measured(request.scope, request.receive))

        return admitted


class _Measured(Request):
    async def json(self) -> JSON:
        """Raises 413 for more values than can be read while others wait; they are counted as UTF-8."""
        body = await self.body()
        limits.require_few_values(body)
        return json.loads(body.decode("utf-8-sig"))


def _calls(part: Dependant) -> Iterator[object]:
    for needed in part.dependencies:
        yield needed.call
        yield from _calls(needed)
