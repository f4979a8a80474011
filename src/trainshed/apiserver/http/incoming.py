"""A request on its way in: its head is there, its body may still be arriving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from trainshed.apiserver.requests import Request
from trainshed.kube import faults

MAX_BODY = 3 * 1024 * 1024


class Incoming(Request):
    __slots__ = ("_fault", "_pieces", "_size", "_whole", "is_whole", "keep_alive", "may_chunk", "on_wanted")

    def __init__(self, method: str, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(method, path, query, headers)
        self.keep_alive = True
        """Whether the client would like to go on with this connection."""
        self.may_chunk = True
        """Whether the client understands answers in chunks: not before HTTP/1.1."""
        self.is_whole = False
        """Whether `body` is all of it."""
        self.on_wanted: Callable[[], None] | None = None
        """Called once somebody waits for the body: the client may want to hear so first."""
        self._pieces: list[bytes] | None = []
        self._size = 0
        self._fault: faults.Fault | None = None
        self._whole: asyncio.Future[None] | None = None

    async def arrive(self) -> None:
        """Wait until `body` is whole. Raises when it is or grows too large, and when the client leaves."""
        declared = self.header(b"content-length")
        if declared.isdigit() and int(declared) > MAX_BODY:
            raise _too_large(int(declared))
        if self._fault is None and not self.is_whole:
            self._whole = asyncio.get_running_loop().create_future()
            if self.on_wanted is not None:
                self.on_wanted()
            await self._whole
        if self._fault is not None:
            raise self._fault

    # --- told by the connection -----------------------------------------------------------------------------

    def take(self, piece: bytes) -> None:
        if self._pieces is None:
            return
        self._size += len(piece)
        if self._size > MAX_BODY:
            self.fail(_too_large(self._size))
        else:
            self._pieces.append(piece)

    def end(self) -> None:
        pieces = self._pieces
        if pieces is not None:
            self.is_whole = True
            if pieces:
                self.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            self._wake()

    def fail(self, fault: faults.Fault) -> None:
        """Nothing of the body is kept from here on; whoever waits for it hears why."""
        self._fault = fault
        self.forget()
        self._wake()

    def forget(self) -> None:
        """Let pass what is still to come: the answer is out."""
        self._pieces = None

    def _wake(self) -> None:
        if self._whole is not None and not self._whole.done():
            self._whole.set_result(None)


def _too_large(size: int) -> faults.TooLarge:
    return faults.TooLarge(f"Request entity too large: limit is {MAX_BODY}, got at least {size}")
