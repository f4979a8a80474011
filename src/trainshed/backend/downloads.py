"""Many logs in one answer, as one text or as an archive, piece by piece as they are read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import cast

from trainshed.backend.joblines.runs import Run
from trainshed.backend.joblines.texts import Found
from trainshed.client.failures import Failure
from trainshed.kube.faults import Fault

Open = Callable[[Found], AsyncIterator[bytes]]


async def plain(found: Sequence[Found], opened: Open) -> AsyncGenerator[bytes, None]:
    for one in found:
        yield f"==> {title(one.run)} <==\n".encode()
        ended = True
        async for piece in _pieces(one, opened):
            yield piece
            ended = piece.endswith(b"\n")
        if not ended:
            yield b"\n"


async def zipped(found: Sequence[Found], opened: Open) -> AsyncGenerator[bytes, None]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one in found:
            with archive.open(file_name(one.run), "w", force_zip64=True) as member:
                async for piece in _pieces(one, opened):
                    member.write(piece)
                    if some := sink.taken():
                        yield some
    yield sink.taken()


async def _pieces(one: Found, opened: Open) -> AsyncGenerator[bytes, None]:
    """What can be read; a log that breaks off says so instead of cutting the whole answer."""
    async with aclosing(cast(AsyncGenerator[bytes, None], opened(one))) as source:
        try:
            async for piece in source:
                yield piece
        except (Fault, Failure):
            yield b"\n(the rest of this log could not be read; ask again)\n"


def title(run: Run) -> str:
    role = "worker" if run.role == "node" else run.role
    return f"{role} {run.worker}, attempt {run.attempt}, container {run.container}, run {run.number}"


def file_name(run: Run) -> str:
    return f"attempt-{run.attempt}/{run.role}-{run.worker}/{run.container}-{run.number}-{run.pod_uid[:8]}.log"


class _Sink(io.RawIOBase):
    """Where an archive is written to: holds only what nobody has taken yet."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: object, /) -> int:
        piece = bytes(cast(bytes, content))
        self._held += piece
        return len(piece)

    def taken(self) -> bytes:
        found, self._held = bytes(self._held), bytearray()
        return found
