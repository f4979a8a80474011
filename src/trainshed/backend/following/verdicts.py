"""What streams say of a job: how it stands, and how it ended; pure."""

from __future__ import annotations

from trainshed.backend.rows import Row
from trainshed.kube.objects import Object


def status_of(row: Row) -> Object:
    return {
        "trainjob_name": row.name,
        "namespace": row.namespace,
        "uid": row.uid,
        "state": row.state,
        "phase": row.phase,
        "message": row.message,
        "created_at": row.created,
        "completed_at": row.finished or None,
    }


def verdict_of(row: Row, *, deleted: bool) -> Object:
    """The last word; of a job that was deleted before its end there is no other."""
    body = {**status_of(row), "deleted": deleted}
    if deleted and not row.is_finished:
        body |= {"phase": "Deleted", "message": "the job was deleted"}
    return body
