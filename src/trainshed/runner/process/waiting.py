"""Waiting in the agent for processes that are not its children."""

from __future__ import annotations

import asyncio
import os

from trainshed.runner.process import records
from trainshed.runner.process.records import Process

_POLL_SECONDS = 0.1


async def ended(process: Process) -> None:
    """Return once the process has ended, also when it had long before."""
    handle = _handle(process)
    if handle is None:
        await _asked_for(process)
        return
    try:
        await readable(handle)
    finally:
        os.close(handle)


async def readable(descriptor: int) -> None:
    """Return once the descriptor can be read."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def _asked_for(process: Process) -> None:
    """For systems without handles on processes."""
    while records.is_alive(process):  # noqa: ASYNC110 - there is nothing to be told by
        await asyncio.sleep(_POLL_SECONDS)


def _handle(process: Process) -> int | None:
    """A descriptor that can be read once the process has ended."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return None
    if records.is_alive(process):  # looked at afterwards: so the handle is of this one and no later one
        return handle
    os.close(handle)
    return None
