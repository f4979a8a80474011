"""Manifests of older kinds as TrainJobs, with all there is to say about it. Nothing is made or kept."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request

from trainshed.backend import problems
from trainshed.backend.caller import CurrentCaller
from trainshed.backend.models.conversions import ConvertAnswer, ConvertRequest, ReportLine
from trainshed.backend.plain import plain
from trainshed.jobs.converting import converting, texts, trees
from trainshed.jobs.converting.findings import Finding
from trainshed.jobs.converting.texts import Text

router = APIRouter(prefix="/api", tags=["training jobs"])


@router.post("/convert", responses=problems.responses(413))
async def convert(body: ConvertRequest, caller: CurrentCaller, request: Request) -> ConvertAnswer:
    """Convert jobs of kubeflow.org/v1 and older TrainJobs to TrainJobs, and report every difference."""
    if (body.yaml is None) == (body.documents is None):
        raise problems.invalid("yaml", "give either yaml or documents")
    async with _turns(request):
        made = await asyncio.to_thread(_made, body)
    return ConvertAnswer(
        converted=made.converted,
        documents=list(made.documents),
        yaml=made.text,
        report=[ReportLine.of(finding) for finding in made.findings],
    )


def _turns(request: Request) -> asyncio.Lock:
    """One at a time: reading YAML keeps a processor busy, and others want to be served."""
    if not hasattr(request.app.state, "conversions"):
        request.app.state.conversions = asyncio.Lock()
    found: asyncio.Lock = request.app.state.conversions
    return found


def _made(body: ConvertRequest) -> Text:
    if body.yaml is not None:
        found = texts.convert(plain("yaml", body.yaml), "yaml")
        return Text(
            found.text, plain("yaml", found.documents), (*found.findings, *_meetings(found)), found.converted
        )
    result = converting.convert(plain("documents", body.documents))
    return Text(trees.written(result.documents), result.documents, result.findings, result.converted)


def _meetings(found: Text) -> list[Finding]:
    return list(converting.namesakes(found.given, found.documents))
