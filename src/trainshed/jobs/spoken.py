"""Which dialect a server speaks; asked where it refuses the one that was tried.

What a server does not know it drops, and the job would run without its code: so jobs are sent with `STRICT`.
"""

from __future__ import annotations

from typing import Final

from trainshed.client import answers, requests
from trainshed.client.client import Client
from trainshed.client.requests import Write
from trainshed.jobs import dialects
from trainshed.jobs.dialects import Dialect

STRICT: Final = Write(validation="Strict")
TRAINER: Final = "/openapi/v3/apis/trainer.kubeflow.org/v1alpha1"


async def dialect(client: Client) -> Dialect:
    return dialects.of_document(answers.read(await client.send(requests.raw(TRAINER))))
