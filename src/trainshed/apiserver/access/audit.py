"""The audit log: one JSON line per request, who did what to which object. Never bodies, never tokens.

Lines are queued and written by a thread, a batch at a time, so a slow or full disk costs requests nothing:
what cannot be written is counted, and the count is written as soon as the disk works again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from urllib.parse import parse_qsl, urlencode

import msgspec

from trainshed.kube import ages

logger = logging.getLogger(__name__)

_SHOWN = frozenset((
    "allowWatchBookmarks", "container", "continue", "dryRun", "fieldManager", "fieldSelector",
    "fieldValidation", "follow", "force", "gracePeriodSeconds", "labelSelector", "limit", "previous",
    "propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "sinceSeconds",
    "tailLines", "timeout", "timeoutSeconds", "watch",
))  # fmt: skip
"""Query parameters whose values may be written; others (`command=` of exec, an `access_token`) are masked."""

_encode = msgspec.json.Encoder().encode
_MOST_QUEUED = 100_000
_MOST_AT_ONCE = 5_000


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    time: datetime
    """When the request arrived, in UTC; written as RFC 3339."""
    verb: str
    path: str
    code: int
    latency_ms: float
    request_id: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    impersonator: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user_agent: str = ""
    source: str = ""
    program: str = ""
    """What is run in a container, by its name alone: any of its arguments may be a secret."""
    arguments: int = 0
    """How many words follow the program's name."""


def sanitized(path: str, query: bytes) -> str:
    """The path with its query, values that might be secret masked."""
    if not query:
        return path
    return f"{path}?{_remembered(query) if len(query) <= _SHORT else _masked(query)}"


def _masked(query: bytes) -> str:
    try:
        pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return "..."
    return urlencode([(key[:64], value[:512] if key in _SHOWN else "...") for key, value in pairs])


_SHORT = 256
_remembered = lru_cache(maxsize=1024)(_masked)
"""The same client sends the same few queries."""


class Audit:
    def __init__(
        self, path: Path, *, most_bytes: int = 50_000_000, backups: int = 3, flush_after: float = 0.25
    ) -> None:
        self._path, self._most_bytes, self._backups = path, most_bytes, backups
        self._flush_after = flush_after
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._stopped = threading.Event()
        self._dropped = 0  # counted by callers
        self._failed = self._reported = 0  # counted by the thread
        self._file = -1
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    def record(self, entry: Entry) -> None:
        """Queue one line; never blocks, never raises."""
        if self._queue.qsize() < _MOST_QUEUED:
            self._queue.put(entry)
        else:
            self._dropped += 1

    def close(self, timeout: float = 5.0) -> None:
        """Write what is queued and stop; gives up on a disk that hangs."""
        self._stopped.set()
        self._queue.put(None)
        self._thread.join(timeout)
        if not self._thread.is_alive() and self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            # A moment's wait turns a burst of requests into one write.
            self._stopped.wait(self._flush_after)
            batch, ended = self._drained(first)
            if batch:
                self._write(batch)
            if ended:
                return

    def _drained(self, first: Entry | None) -> tuple[list[Entry], bool]:
        batch: list[Entry] = []
        entry = first
        while entry is not None:
            batch.append(entry)
            if len(batch) >= _MOST_AT_ONCE:
                return batch, False
            try:
                entry = self._queue.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _write(self, batch: list[Entry]) -> None:
        lines = [_encode(entry) for entry in batch]
        lost = self._dropped + self._failed - self._reported
        if lost:
            lines.append(msgspec.json.encode({"time": ages.micro_timestamp(datetime.now(UTC)), "lost": lost}))
        try:
            self._append(b"\n".join(lines) + b"\n")
        except OSError as error:
            if not lost:
                logger.warning("the audit log cannot be written: %s", error)
            self._failed += len(batch)
            self._reopen_later()
        else:
            self._reported += lost

    def _append(self, data: bytes) -> None:
        if self._file < 0:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        size = os.fstat(self._file).st_size
        if size and size + len(data) > self._most_bytes:
            self._rotate()
            return self._append(data)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            # Half a line must not stay in front of the next one.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise

    def _rotate(self) -> None:
        self._reopen_later()
        for number in range(self._backups, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path.with_name(f"{self._path.name}.{number - 1}") if number > 1 else self._path
            with contextlib.suppress(FileNotFoundError):
                os.replace(newer, older)

    def _reopen_later(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
