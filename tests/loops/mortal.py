"""A connection that breaks for good at a chosen write: what an operator does when it is killed there."""

from __future__ import annotations

import asyncio
from typing import Literal

from trainshed.client.answers import Answer
from trainshed.client.client import Client
from trainshed.client.failures import Unreachable
from trainshed.client.kubeconfig import Config
from trainshed.client.requests import Request
from trainshed.client.retries import Patience
from trainshed.client.transport import ANSWER_SECONDS, AbstractStream, HttpTransport

Moment = Literal["before", "after"]


class Mortal:
    """Dies at the nth write, just before it is sent or just after it took effect; events do not count.

    It is dead once nothing is under way any more: what the server hears of later would be another story.
    """

    def __init__(self, config: Config, dies_at: int, moment: Moment) -> None:
        self._inner = HttpTransport(config)
        self._left, self._moment, self._under_way = dies_at, moment, 0
        self.dead = asyncio.Event()

    async def send(self, request: Request, within: float = ANSWER_SECONDS) -> Answer:
        self._check()
        if request.method == "GET" or "/events" in request.path:
            return await self._inner.send(request, within)
        self._left -= 1
        is_last, self._under_way = self._left == 0, self._under_way + 1
        try:
            if is_last and self._moment == "before":
                self._check()
            answer = await self._inner.send(request, within)
        finally:
            self._under_way -= 1
            if self._left <= 0 and not self._under_way:
                self.dead.set()
        if is_last:
            self._check()
        return answer

    def stream(self, request: Request, within: float | None = None) -> AbstractStream:
        return self._inner.stream(request, within)

    def forget_credentials(self) -> bool:
        return self._inner.forget_credentials()

    async def close(self) -> None:
        await self._inner.close()

    def _check(self) -> None:
        if self._left <= 0:
            raise Unreachable("the operator is dead")


def client(transport: Mortal) -> Client:
    return Client(transport, manager="operator", patience=Patience(attempts=1))
