"""Query parameters a route does not know are refused: a misspelt filter would choose the wrong jobs."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from trainshed.backend import nearness, problems

_MOST_NAMED = 5


def require_known(request: Request) -> None:
    """Raises a 422 that names parameters the route does not take."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute):
        return
    known = frozenset(_names(route.dependant))
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if not unknown:
        return
    named = ", ".join(f'"{name[:50]}"' for name in unknown[:_MOST_NAMED])
    listed = ", ".join(sorted(known)) or "none"
    hint = nearness.did_you_mean(unknown[0], known) or f"this route takes: {listed}"
    what = "is no parameter" if len(unknown) == 1 else "are no parameters"
    raise problems.invalid(unknown[0][:200], f"there {what} {named}", hint)


def _names(part: Dependant) -> Iterator[str]:
    yield from (field.alias for field in part.query_params)
    for needed in part.dependencies:
        yield from _names(needed)
