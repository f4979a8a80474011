"""The name of a job in a path, for all routes that have one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path

from trainshed.backend import caller as callers


async def job_name(name: Annotated[str, Path(examples=["user123-job-20251105130000"])]) -> str:
    """Raises 422 for what cannot be one."""
    return callers.checked_name(name)


JobName = Annotated[str, Depends(job_name)]
