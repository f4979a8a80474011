"""The database file: opened, checked, read once and then only appended to, thinned out and checkpointed.

Everything here blocks. `open` and `load` run before the writer's thread exists, the rest runs in that thread.
"""

from __future__ import annotations

import sqlite3
import struct
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainshed.store import statements
from trainshed.store.faults import NOT_OURS, Corrupt, NewerFormat, border
from trainshed.store.records import Key, Record, decode_marks
from trainshed.store.settings import Settings

FILE_NAME = "store.db"
FORMAT = 1
APPLICATION = 0x54534844
"""`TSHD`, in the file's header, so that a stranger's database is not taken for ours."""

Row = tuple[int, str, str, str, int, int, int, str, bytes]
_HEADER = struct.Struct(">16s44xI4xI28x")
_MAGIC = b"SQLite format 3\0"


class Database:
    __slots__ = ("_connection", "path")

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.path = folder / FILE_NAME
        with border(self.path):
            self._connection = _connect(self.path)
            try:
                self._prepare(settings)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, settings: Settings) -> None:
        if not self._run("PRAGMA user_version").fetchone()[0]:
            self._create()
        self._run("PRAGMA journal_mode = WAL")
        refuse_newer(self.path, self._number("format"))
        self._run("PRAGMA synchronous = FULL")
        self._run("PRAGMA fullfsync = ON")  # macOS only: there a plain sync stops at the drive's cache
        self._run("PRAGMA wal_autocheckpoint = 0")
        self._run("PRAGMA secure_delete = FAST")
        if settings.quota_bytes:
            page_size: int = self._run("PRAGMA page_size").fetchone()[0]
            self._run(f"PRAGMA max_page_count = {max(1, settings.quota_bytes // page_size)}")
        # A real write, so that a full or read-only disk is found out now and not by the first user.
        self._run(statements.SET_META, ("opened", self._number("opened") + 1))

    def _create(self) -> None:
        """Still without a write-ahead log, so that the header tells the format from the first byte on."""
        script = f"""
            BEGIN IMMEDIATE;
            {statements.SCHEMA}
            INSERT INTO meta VALUES ('format', {FORMAT}), ('cluster', '{uuid.uuid4()}'), ('compacted', 0);
            PRAGMA application_id = {APPLICATION};
            PRAGMA user_version = {FORMAT};
            COMMIT;
        """
        try:
            self._connection.executescript(script)
        except sqlite3.Error:
            self._undo()
            raise

    @property
    def cluster_id(self) -> str:
        return str(self._meta("cluster"))

    @property
    def compacted(self) -> int:
        return self._number("compacted")

    @property
    def synchronous(self) -> int:
        """2 is FULL: a commit returns when it is on the disk."""
        level: int = self._run("PRAGMA synchronous").fetchone()[0]
        return level

    def load(self) -> Iterator[tuple[Record, int, bool]]:
        """All rows in order: the record, what it replaced, whether it is a deletion."""
        with border(self.path):
            for row in self._run(statements.LOAD):
                yield self._record(row), row[5], bool(row[6])

    def append(self, rows: Sequence[Row]) -> None:
        """Make the rows durable, all or none: one statement is one transaction, synced before it returns."""
        places = 1 << (len(rows) - 1).bit_length()
        values: list[object] = []
        for row in rows:
            values += row[:-1]
            # sqlite3 looks for adapters of bytes and None at every use, holding the interpreter lock;
            # numbers, texts and bytearrays it takes as they are.
            values.append(bytearray(row[-1]))
        values += [0] * ((places - len(rows)) * len(statements.COLUMNS))
        self._run(statements.append(places), values)

    def compact(self, after: int, upto: int) -> None:
        """Remove what the revisions in between replaced or deleted.

        Not synced: the next write's sync covers it, and if it is lost before that, everything is still there.
        """
        self._run("PRAGMA synchronous = NORMAL")
        try:
            self._run(statements.BEGIN)
            self._run(statements.DROP_REPLACED, (after, upto))
            self._run(statements.DROP_DELETED, (after, upto))
            self._run(statements.SET_META, ("compacted", upto))
            self._run(statements.COMMIT)
        finally:
            self._undo()
            self._run("PRAGMA synchronous = FULL")

    def checkpoint(self) -> None:
        self._run(statements.CHECKPOINT).fetchall()

    def close(self) -> None:
        with border(self.path):
            self._connection.close()

    def _run(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _undo(self) -> None:
        if self._connection.in_transaction:
            self._run(statements.ROLLBACK)

    def _meta(self, name: str) -> object:
        row = self._run(statements.GET_META, (name,)).fetchone()
        return row[0] if row else None

    def _number(self, name: str) -> int:
        found = self._meta(name)
        return found if isinstance(found, int) else 0

    def _record(self, row: Row) -> Record:
        revision, resource, namespace, name, created, _, _, marks, value = row
        try:
            uid, owners, labels = decode_marks(marks)
        except ValueError as error:
            what = f"{self.path} is damaged at revision {revision}"
            raise Corrupt(what, "restore it from a copy") from error
        return Record(Key(resource, namespace, name).shared(), revision, created, value, labels, owners, uid)


def check_header(folder: Path) -> None:
    """Refuse a file that is not ours or too new by looking at its first bytes only: nothing is touched."""
    path = folder / FILE_NAME
    with border(path):
        try:
            with path.open("rb") as file:
                head = file.read(_HEADER.size)
        except FileNotFoundError:
            return
    if not head:
        return
    magic, version, application = _HEADER.unpack(head.ljust(_HEADER.size, b"\0"))
    if magic != _MAGIC or (version and application != APPLICATION):
        what, hint = NOT_OURS
        raise Corrupt(what.format(path=path), hint)
    refuse_newer(path, version)


def refuse_newer(path: Path, version: int) -> None:
    if version > FORMAT:
        what = f"{path} was written by a newer version (format {version}; this one knows {FORMAT})"
        raise NewerFormat(what, "upgrade with pip install -U trainshed")


def _connect(path: Path) -> sqlite3.Connection:
    # Handed to the writer's thread after loading, hence check_same_thread. No isolation level: the module
    # would otherwise open transactions on its own.
    return sqlite3.connect(
        path, timeout=5.0, isolation_level=None, check_same_thread=False, cached_statements=64
    )
