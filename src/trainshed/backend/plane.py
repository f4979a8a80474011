"""The Kubernetes API behind the service, as two kinds of people see it: the service itself, and each caller.

All callers share one pool of connections that has no credentials of its own; a request carries its caller's
token or nothing. So a client per caller costs nothing, and no caller can ride on the service's rights.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from trainshed.client import answers, requests
from trainshed.client.answers import Answer
from trainshed.client.client import Client
from trainshed.client.kubeconfig import Config, User
from trainshed.client.requests import Request
from trainshed.client.retries import Patience
from trainshed.client.transport import ANSWER_SECONDS, AbstractStream, HttpTransport
from trainshed.kube.objects import JSON, dig

log = logging.getLogger(__name__)

Dialect = Literal["v2.1", "v2.2"]
MANAGER = "trainshed-backend"
TRAINER = "/openapi/v3/apis/trainer.kubeflow.org/v1alpha1"
_FRESH_SECONDS = 600.0
_CALLERS = Patience(attempts=3, longest_wait=0.5)
"""A person waits for the answer: what does not get better in a second is told to them."""


class Plane:
    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self.config = config
        self.own = Client.connect(config, manager=MANAGER)
        self._callers = HttpTransport(dataclasses.replace(config, user=User()))
        self._clock = clock
        self._dialect: tuple[float, Dialect] | None = None
        self._asking = asyncio.Lock()

    @property
    def namespace(self) -> str:
        return self.config.namespace

    def as_caller(self, token: str) -> Client:
        """A client that is whoever the token says; nothing to close."""
        transport = _Bearer(self._callers, token)
        client = Client(
            transport,
            namespace=self.namespace,
            manager=MANAGER,
            patience=_CALLERS,
            on_warning=lambda text: log.debug("%s", text),
        )
        client.discovery = self.own.discovery  # which kinds there are is the same for everybody
        return client

    async def dialect(self) -> Dialect:
        """How a TrainJob changes its runtime's template there; asked again from time to time."""
        async with self._asking:
            if self._dialect is None or self._clock() - self._dialect[0] > _FRESH_SECONDS:
                document = answers.read(await self.own.send(requests.raw(TRAINER)))
                self._dialect = (self._clock(), dialect_of(document))
            return self._dialect[1]

    async def close(self) -> None:
        await self._callers.close()
        await self.own.close()


@dataclass(frozen=True, slots=True)
class _Bearer:
    """The shared connections with one caller's token on each request."""

    shared: HttpTransport
    token: str = dataclasses.field(repr=False)

    async def send(self, request: Request, within: float = ANSWER_SECONDS) -> Answer:
        return await self.shared.send(self._signed(request), within)

    def stream(self, request: Request, within: float | None = None) -> AbstractStream:
        return self.shared.stream(self._signed(request), within)

    def forget_credentials(self) -> bool:
        return False

    async def close(self) -> None:
        """The connections are everybody's."""

    def _signed(self, request: Request) -> Request:
        headers = {**request.headers, "Authorization": f"Bearer {self.token}"}
        return dataclasses.replace(request, headers=headers)


# --- pure ---------------------------------------------------------------------------------------------------


def dialect_of(document: JSON) -> Dialect:
    """The dialect that an OpenAPI v3 document of the trainer's group speaks."""
    fields = {name for schema in _trainjobs(document) for name in _spec_fields(document, schema)}
    return "v2.2" if "runtimePatches" in fields or not fields else "v2.1"


def _trainjobs(document: JSON) -> Iterator[JSON]:
    for schema in (dig(document, "components", "schemas") or {}).values():
        for kind in dig(schema, "x-kubernetes-group-version-kind") or []:
            if dig(kind, "kind") == "TrainJob":
                yield schema


def _spec_fields(document: JSON, schema: JSON) -> Iterator[str]:
    """The names of the spec's fields, whether it is written in place or referred to."""
    spec = dig(schema, "properties", "spec")
    for place in (spec, *(dig(spec, "allOf") or [])):
        yield from dig(place, "properties") or {}
        reference = dig(place, "$ref")
        if isinstance(reference, str):
            name = reference.rpartition("/")[2]
            yield from dig(document, "components", "schemas", name, "properties") or {}
