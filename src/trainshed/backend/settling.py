"""Waiting for what another request has just made: a server may refuse a name before it shows its holder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

_FIRST_SECONDS, _TRIES = 0.01, 9
"""About five seconds together: as long as a busy disk may take to make a write durable."""


async def tries() -> AsyncIterator[int]:
    """Counts, with a wait before each but the first; each twice as long as the one before."""
    for number in range(_TRIES):
        if number:
            await asyncio.sleep(_FIRST_SECONDS * 2**number)
        yield number
