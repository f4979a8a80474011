"""Answers that leave piece by piece, as they come."""

from __future__ import annotations

import logging

from trainshed.apiserver.answers import Stream
from trainshed.apiserver.http.outlet import Outlet

log = logging.getLogger(__name__)

PART_BYTES = 64 * 1024
"""Most bytes sent at once: what waits for a slow reader is copied several times on its way out."""


async def pump(stream: Stream, outlet: Outlet, chunked: bool) -> None:
    """Send the pieces of a stream until it ends, the client leaves, or the task is cancelled."""
    try:
        async for piece in stream.pieces:
            for start in range(0, len(piece), PART_BYTES):
                part = piece[start : start + PART_BYTES]
                outlet.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
                await outlet.drain()
    except ConnectionResetError:
        log.debug("the reader of a stream left")
    except Exception:
        log.exception("a stream broke off")  # its head is out: the client is left with what it has got
    finally:
        closing = getattr(stream.pieces, "aclose", None)
        if closing is not None:
            await closing()
