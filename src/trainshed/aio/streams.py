"""What asyncio's streams promise, kept with uvloop's as well."""

from __future__ import annotations

from asyncio import StreamWriter


async def put(writer: StreamWriter, data: bytes) -> None:
    """Write, and wait while the other side does not take; raises `ConnectionError` when nobody is there.

    Writing to a transport that is closed is no matter to asyncio, but a RuntimeError to uvloop.
    """
    if writer.is_closing():
        raise ConnectionResetError("nobody is there")
    writer.write(data)
    await writer.drain()
