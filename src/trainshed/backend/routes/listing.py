"""Lists of jobs: filtered, newest first, page by page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response

from trainshed.backend import caller as callers
from trainshed.backend import nearness, pages, paging, problems
from trainshed.backend.caller import Caller, CurrentCaller
from trainshed.backend.following.permits import TRAINER
from trainshed.backend.index import Index
from trainshed.backend.models.jobs import JobPage
from trainshed.backend.paging import Filter, Listed, Page
from trainshed.client.requests import ALL
from trainshed.jobs.summary import TRAINJOBS
from trainshed.kube import faults, selectors
from trainshed.kube.objects import Object, encode

router = APIRouter(prefix="/api/trainjob", tags=["training jobs"])

JSON_MEDIA = "application/json"
T = TypeVar("T", bound=Listed)
STATES = ("Pending", "Waiting", "Running", "Restarting", "Suspended", "Complete", "Failed", "Deleted")
"""What a filter may name: the states of the contract, the finer phases, and that of the history."""


async def chosen(
    state: Annotated[
        str, Query(max_length=32, description="A state or phase, in any case.", examples=["Failed"])
    ] = "",
    framework: Annotated[str, Query(max_length=63, examples=["pytorch"])] = "",
    user_id: Annotated[str, Query(max_length=63, examples=["user123"])] = "",
    name: Annotated[str, Query(max_length=253, description="Part of the name.", examples=["job-2025"])] = "",
    label_selector: Annotated[
        str, Query(max_length=4096, description="As kubectl's -l.", examples=["team=vision,stage!=test"])
    ] = "",
    created_after: Annotated[
        datetime | None, Query(description="RFC 3339.", examples=["2025-11-05T00:00:00Z"])
    ] = None,
    created_before: Annotated[datetime | None, Query(examples=["2025-11-06T00:00:00Z"])] = None,
) -> Filter:
    """The filters of a list. Raises 422 for a state or a selector that is none."""
    try:
        selectors.parse_labels(label_selector)
    except (faults.Fault, ValueError) as wrong:
        raise problems.invalid("label_selector", f"label_selector: {wrong}") from wrong
    after, before = _utc("created_after", created_after), _utc("created_before", created_before)
    return Filter(_state(state), framework, user_id, name, label_selector, after, before)


def _state(written: str) -> str:
    """The state as it is spelt here, however it is written."""
    found = {one.lower(): one for one in STATES}.get(written.lower(), "")
    if written and not found:
        near = nearness.did_you_mean(written, STATES)
        raise problems.invalid("state", f"state: must be one of {', '.join(STATES)}", near or None)
    return found


def _utc(field: str, moment: datetime | None) -> datetime | None:
    """A time without a zone is meant in UTC."""
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as wrong:
        raise problems.invalid(field, f"{field}: no calendar has this time") from wrong


async def scope(
    caller: CurrentCaller,
    namespace: Annotated[
        str | None, Query(description="The caller's own unless given.", examples=["user-123"])
    ] = None,
    all_namespaces: Annotated[bool, Query(description="Those of everybody, for those who may.")] = False,
) -> str | None:
    """The namespace of a list, None for all; the caller may list jobs there."""
    if all_namespaces and namespace is not None:
        raise problems.invalid("all_namespaces", "all_namespaces: a namespace is given too")
    place = None
    if not all_namespaces:
        place = callers.checked_namespace(caller.namespace if namespace is None else namespace)
    await caller.require("list", "trainjobs", place or "", group=TRAINER)
    return place


Chosen = Annotated[Filter, Depends(chosen)]
Scope = Annotated[str | None, Depends(scope)]
Limit = Annotated[int, Query(ge=1, le=paging.MOST, description="Of one page.")]
Continue = Annotated[
    str, Query(alias="continue", max_length=1024, description="The `continue` of the page before.")
]


@router.get("", responses=problems.responses(), response_model=JobPage)
async def jobs(
    request: Request,
    caller: CurrentCaller,
    place: Scope,
    wanted: Chosen,
    limit: Limit = 50,
    token: Continue = "",
) -> Response:
    """Jobs, newest first. While jobs come and go, one that is there throughout is on exactly one page."""
    index: Index = request.app.state.index
    if not index.synced.is_set():
        index = await _listed(caller, place)
    try:
        return answer(index.page(place, wanted, token, limit), pages.job)
    except paging.WrongToken as wrong:
        raise problems.invalid("continue", f"continue: {wrong}") from wrong


def answer(page: Page[T], shown: Callable[[T], Object]) -> Response:
    """A page as it goes out: encoded here, since checking hundreds of our own items would cost more."""
    body = {"items": [shown(row) for row in page.rows], "total": page.total, "continue": page.token or None}
    return Response(encode(body), media_type=JSON_MEDIA)


async def _listed(caller: Caller, place: str | None) -> Index:
    """As long as the service has not seen all jobs itself, it asks, as the caller."""
    found = Index()
    for job in (await caller.client.list(TRAINJOBS, ALL if place is None else place)).items:
        found.learn(job)
    return found
