"""What streams say of a job: how it stands, and how it ended; pure."""

from __future__ import annotations

from trainshed.backend import pages
from trainshed.backend.history import records
from trainshed.backend.rows import Row
from trainshed.kube.objects import Object

_STATUS = (
    "trainjob_name",
    "namespace",
    "uid",
    "state",
    "phase",
    "message",
    "created_at",
    "completed_at",
)
"""What of a job in a list changes while it runs, and which job that is."""


def status_of(row: Row) -> Object:
    whole = pages.job(row)
    return {name: whole[name] for name in _STATUS}


def verdict_of(row: Row, *, deleted: bool) -> Object:
    """The last word; of a job that was deleted before its end that is what the history says."""
    body = {**status_of(row), "deleted": deleted}
    if deleted and not row.is_finished:
        gone = records.entry(row, "now")
        body |= {"state": gone.state, "phase": gone.phase, "message": gone.message}
    return body
