"""Every SQL statement the store runs, by name. No statement is put together from values."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

SCHEMA: Final = files("trainshed.store").joinpath("schema.sql").read_text(encoding="utf-8")

BEGIN: Final = "BEGIN IMMEDIATE"
COMMIT: Final = "COMMIT"
ROLLBACK: Final = "ROLLBACK"

GET_META: Final = "SELECT value FROM meta WHERE name = ?"
SET_META: Final = (
    "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

COLUMNS: Final = (
    "revision",
    "resource",
    "namespace",
    "name",
    "created",
    "previous",
    "deleted",
    "marks",
    "value",
)
LOAD: Final = f"SELECT {', '.join(COLUMNS)} FROM revisions ORDER BY revision"

# The rows between two revisions tell what they replaced; that, and the deletions among them, is what may go.
DROP_REPLACED: Final = """
    DELETE FROM revisions WHERE revision IN (
        SELECT previous FROM revisions WHERE revision > ? AND revision <= ? AND previous > 0
    )"""
DROP_DELETED: Final = "DELETE FROM revisions WHERE revision > ? AND revision <= ? AND deleted = 1"

# PASSIVE never waits; the store is the only one in the file, so it still copies everything.
CHECKPOINT: Final = "PRAGMA wal_checkpoint(PASSIVE)"


@cache
def append(rows: int) -> str:
    """One statement that inserts up to `rows` rows; unused places are filled with zeros and skipped.

    One statement, because each one gives up the interpreter lock and may wait milliseconds to get it back
    while the event loop is busy.
    """
    row = f"({', '.join('?' * len(COLUMNS))})"
    values = ", ".join([row] * rows)
    return f"INSERT INTO revisions SELECT * FROM (VALUES {values}) WHERE column1 > 0"
