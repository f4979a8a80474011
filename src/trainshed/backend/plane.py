"""The Kubernetes API behind the service, as two kinds of people see it: the service itself, and each caller.

All callers share one pool of connections that has no credentials of its own; a request carries its caller's
token or nothing. So a client per caller costs nothing, and no caller can ride on the service's rights.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from trainshed.client.answers import Answer
from trainshed.client.client import Client
from trainshed.client.kubeconfig import Config, User
from trainshed.client.requests import Request
from trainshed.client.retries import Patience
from trainshed.client.transport import ANSWER_SECONDS, AbstractStream, HttpTransport
from trainshed.jobs import spoken
from trainshed.jobs.dialects import Dialect

log = logging.getLogger(__name__)

MANAGER = "trainshed-backend"
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
                self._dialect = (self._clock(), await spoken.dialect(self.own))
            return self._dialect[1]

    async def other_dialect(self, refused: Dialect) -> Dialect | None:
        """The one to use instead of one that was refused, as after an upgrade; None where it is the same."""
        if self._dialect is not None and self._dialect[1] == refused:
            self._dialect = None
        known = await self.dialect()
        return None if known == refused else known

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
