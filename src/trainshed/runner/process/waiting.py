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


async def over(place: str, supervisor: Process) -> None:
    """Return once a run has ended and that is on record, or its supervisor was killed."""
    try:
        held = os.open(os.path.join(place, records.HELD), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if records.read_run(place) is not None:  # it has one supervisor for itself; else its pod is gone
            await ended(supervisor)
        return
    handle = _handle(supervisor)
    try:
        # Looked at after the fifo was opened: who has it open now is still to close it, or to end.
        if handle is not None and records.read_ending(place) is None:
            await readable(held, handle)
    finally:
        for descriptor in (held, handle):
            if descriptor is not None:
                os.close(descriptor)


async def readable(*descriptors: int) -> None:
    """Return once one of the descriptors can be read."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    for descriptor in descriptors:
        loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        for descriptor in descriptors:
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
