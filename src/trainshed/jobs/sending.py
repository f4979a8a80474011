"""Sending a submission: the code, then the job, then tying one to the other; all of it or nothing."""

from __future__ import annotations

import contextlib

from trainshed.client.client import Client
from trainshed.jobs import spoken, submission
from trainshed.jobs.dialects import NEWEST, unknown_fields
from trainshed.jobs.spoken import STRICT
from trainshed.jobs.submission import Submission
from trainshed.kube import faults
from trainshed.kube.objects import Object, text


async def send(client: Client, wanted: Submission, namespace: str) -> Object:
    """Create what the submission needs; the TrainJob as the server has it. Raises what refused it."""
    code = submission.code_map(wanted)
    if code is not None:
        await client.create(code, namespace)
    try:
        job = await _create(client, wanted, namespace)
    except BaseException:
        if code is not None:
            await _take_back(client, code, namespace)
        raise
    if code is not None:
        await _give(client, code, job, namespace)
    return job


async def _create(client: Client, wanted: Submission, namespace: str) -> Object:
    """The job in the words of today; in those of the server where it does not know them."""
    try:
        return await client.create(submission.trainjob(wanted), namespace, STRICT)
    except faults.BadRequest as refused:
        known = await spoken.dialect(client) if unknown_fields(refused) else NEWEST
        if known == NEWEST:
            raise
    return await client.create(submission.trainjob(wanted, known), namespace, STRICT)


async def _give(client: Client, code: Object, job: Object, namespace: str) -> None:
    """The code goes when the job goes."""
    owner = {
        "apiVersion": submission.API_VERSION,
        "kind": "TrainJob",
        "name": text(job, "metadata", "name"),
        "uid": text(job, "metadata", "uid"),
    }
    changes = {"metadata": {"ownerReferences": [owner]}}
    await client.patch("configmaps", text(code, "metadata", "name"), changes, namespace)


async def _take_back(client: Client, code: Object, namespace: str) -> None:
    with contextlib.suppress(faults.NotFound):
        await client.delete("configmaps", text(code, "metadata", "name"), namespace)
