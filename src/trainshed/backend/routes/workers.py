"""The parameter `worker` of all routes that tell lines: one by its number, or all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BeforeValidator

from trainshed.backend.problems import Problem
from trainshed.backend.rows import PodRow, Row

ALL = "all"
_MOST = 100_000
Worker = int | Literal["all"]


def _read(value: object) -> Worker:
    written = str(value)
    if written == ALL:
        return "all"
    if written.isascii() and written.isdecimal() and len(written) < 10 and int(written) <= _MOST:
        return int(written)
    raise ValueError("must be a number from 0 on, or all")


READ = BeforeValidator(_read, json_schema_input_type=Worker)
"""One message for what is neither, instead of one for each of both."""


def number(worker: Worker) -> int | None:
    """None for all."""
    return None if worker == "all" else worker


def missing(row: Row) -> Problem:
    which = "1 worker, 0" if row.nodes == 1 else f"{row.nodes} workers, 0 to {row.nodes - 1}"
    return Problem(404, f"worker: the job has {which}", field="worker", hint="or worker=all")


def require(row: Row, pods: Iterable[PodRow], worker: Worker) -> None:
    """Raises 404 for a worker there will never be. Where the runtime says how many, pods have to tell."""
    ranks = {pod.rank for pod in pods}
    is_known = row.nodes > 1 or bool(ranks)
    if worker != "all" and is_known and worker >= row.nodes and worker not in ranks:
        raise missing(row)
