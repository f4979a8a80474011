"""Whose history a caller is shown where a namespace's name has had several owners."""

from __future__ import annotations

from fastapi import Request

from trainshed.backend.caller import Caller, the_plane
from trainshed.backend.following.permits import TRAINER
from trainshed.backend.history import births
from trainshed.backend.history.store import Covers, everything


async def covers(request: Request, caller: Caller, namespace: str) -> Covers:
    """What of a namespace's history is theirs: that of the present one; all for who may list all jobs."""
    if await caller.may("list", "trainjobs", "", group=TRAINER):
        return everything
    return (await births.of(the_plane(request).own, namespace)).covers
