"""Manifests of older kinds as TrainJobs, with all there is to say about it. Nothing is made or kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import APIRouter, Request

from trainshed.backend import problems
from trainshed.backend.admission import AdmittedRoute
from trainshed.backend.caller import CurrentCaller
from trainshed.backend.models.conversions import (
    MOST_DOCUMENTS,
    ConvertAnswer,
    ConvertRequest,
)
from trainshed.backend.plain import plain
from trainshed.backend.problems import Problem
from trainshed.jobs import manifests
from trainshed.jobs.converting import converting, texts, trees
from trainshed.jobs.converting.budgets import Budget, TooMuch
from trainshed.jobs.converting.findings import Finding
from trainshed.jobs.converting.texts import Text

router = APIRouter(prefix="/api", tags=["training jobs"], route_class=AdmittedRoute)
_MOST_CHARACTERS: Final = 8 * 1024 * 1024
"""Of results: jobs of thousands of pods are long, because each pod is told of all others."""
_LATER: Final = {"Retry-After": "2"}


@router.post("/convert", responses=problems.responses(413))
async def convert(body: ConvertRequest, caller: CurrentCaller, request: Request) -> ConvertAnswer:
    """Convert jobs of kubeflow.org/v1 and older TrainJobs to TrainJobs, and report every difference."""
    if (body.yaml is None) == (body.documents is None):
        raise problems.invalid("yaml", "give either yaml or documents")
    if body.yaml is not None and sum(1 for _ in manifests.pieces(body.yaml)) > 2 * MOST_DOCUMENTS:
        raise problems.invalid("yaml", f"yaml: at most {MOST_DOCUMENTS} documents", "convert them in parts")
    async with _turns(request).taken(caller.user):
        made = await asyncio.to_thread(_made, body)
    return ConvertAnswer.of(made)


class Turns:
    """Few at a time: reading YAML keeps a processor busy. Nobody can take all turns: each has few of them."""

    def __init__(self, at_once: int = 2, each: int = 2, patience: float = 10.0) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._held = Counter[str]()
        self._each, self._patience = each, patience

    @asynccontextmanager
    async def taken(self, user: str) -> AsyncIterator[None]:
        """Raises 429 for one who has enough under way, and 503 where others have for too long."""
        if self._held[user] >= self._each:
            raise Problem(429, "other conversions of yours are under way", hint=_WAIT, headers=_LATER)
        self._held[user] += 1
        try:
            await self._turn()
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._held[user] -= 1
            self._held += Counter()  # forgets those who have none

    async def _turn(self) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise Problem(503, "too many conversions are under way", hint=_WAIT, headers=_LATER) from None


_WAIT: Final = "try again in a moment, or use trainshed convert"


def _turns(request: Request) -> Turns:
    if not hasattr(request.app.state, "conversions"):
        request.app.state.conversions = Turns()
    found: Turns = request.app.state.conversions
    return found


def _made(body: ConvertRequest) -> Text:
    try:
        return _within(body, Budget(_MOST_CHARACTERS))
    except TooMuch as much:
        raise Problem(413, str(much), hint="use trainshed convert, which has no such bound") from much


def _within(body: ConvertRequest, budget: Budget) -> Text:
    if body.yaml is not None:
        found = texts.convert(plain("yaml", body.yaml), "yaml", budget)
        return Text(
            found.text, plain("yaml", found.documents), (*found.findings, *_meetings(found)), found.converted
        )
    result = converting.convert(plain("documents", body.documents), budget)
    return Text(trees.written(result.documents), result.documents, result.findings, result.converted)


def _meetings(found: Text) -> list[Finding]:
    return list(converting.namesakes(found.given, found.documents))
