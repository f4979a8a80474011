"""Durable writes through the store, against raw SQLite commits of the same rows in the same run.

    python bench/store.py [SECONDS per measurement]

Raw means: one thread, no event loop, nothing kept in memory, `N` rows in each transaction. The store does the
same for `N` writers that each wait for their own write. The two take turns, so both get the same machine.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from trainshed.store import statements
from trainshed.store.records import Draft, Key, Record
from trainshed.store.sqlite import Row
from trainshed.store.store import Store
from trainshed.store.writer import row_of

WRITERS = (1, 8, 32, 128)
TURNS = 5
VALUE = b"x" * 1024
UID = "01234567-89ab-cdef-0123-456789abcdef"


@dataclass(frozen=True, slots=True)
class Result:
    writers: int
    store: float
    raw: float
    latencies: Sequence[float]

    def line(self) -> str:
        p50, p99 = (self.latencies[int(len(self.latencies) * share)] * 1000 for share in (0.5, 0.99))
        return (
            f"{self.writers:>7} writers  {self.store / self.raw:5.2f} of raw   "
            f"{self.store:>7.0f} puts/s (p50 {p50:.2f} ms, p99 {p99:.2f} ms)   raw {self.raw:>7.0f} rows/s"
        )


async def measure(folder: Path, writers: int, seconds: float) -> Result:
    store = Store.open(folder / f"store-{writers}")
    raw = _raw_database(folder / f"raw-{writers}.db")
    revisions = count(1)
    stored = written = 0.0
    latencies: list[float] = []
    for _ in range(TURNS):
        stored += await _through_the_store(store, writers, seconds / TURNS, latencies) / TURNS
        written += _raw_commits(raw, writers, seconds / TURNS, revisions) / TURNS
    await store.close()
    raw.close()
    return Result(writers, stored, written, sorted(latencies))


async def _through_the_store(store: Store, writers: int, seconds: float, latencies: list[float]) -> float:
    begin = time.perf_counter()
    first = len(latencies)

    async def write(writer: int) -> None:
        for number in count():
            started = time.perf_counter()
            if started - begin >= seconds:
                return
            await store.put(_key(begin, writer, number), _draft)
            latencies.append(time.perf_counter() - started)

    await asyncio.gather(*map(write, range(writers)))
    return (len(latencies) - first) / (time.perf_counter() - begin)


def _raw_commits(raw: sqlite3.Connection, writers: int, seconds: float, revisions: count[int]) -> float:
    begin = time.perf_counter()
    statement = f"INSERT INTO revisions VALUES ({', '.join('?' * len(statements.COLUMNS))})"
    done = 0
    for number in count():
        rows = [_row(_key(begin, writer, number), next(revisions)) for writer in range(writers)]
        raw.execute(statements.BEGIN)
        raw.executemany(statement, rows)
        raw.execute(statements.COMMIT)
        done += writers
        if time.perf_counter() - begin >= seconds:
            break
    return done / (time.perf_counter() - begin)


def _raw_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(statements.SCHEMA)
    return connection


def _key(turn: float, writer: int, number: int) -> Key:
    return Key("configmaps", "default", f"map-{turn:.3f}-{writer}-{number}")


def _draft(revision: int) -> Draft:
    return Draft(VALUE, None, (), UID)


def _row(key: Key, revision: int) -> Row:
    return row_of(Record(key, revision, revision, VALUE, None, (), UID), 0, deleted=False)


def _timed(work: Callable[[], object], times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begin) / times


async def reading(folder: Path, objects: int = 20_000) -> str:
    """What a restart with many objects costs, and reading them."""
    store = Store.open(folder / "reading")
    await asyncio.gather(*(store.put(_key(0, number % 7, number), _draft) for number in range(objects)))
    await store.close()
    begin = time.perf_counter()
    store = Store.open(folder / "reading")
    opened = time.perf_counter() - begin
    key = _key(0, 1, 1)
    listed = _timed(lambda: store.list("configmaps"), 20)
    got = _timed(lambda: store.get(key), 20_000)
    await store.close()
    return (
        f"{objects} objects: open {opened * 1000:.0f} ms, list {listed * 1e6:.0f} us, get {got * 1e9:.0f} ns"
    )


async def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        for writers in WRITERS:
            print((await measure(Path(name), writers, seconds)).line(), flush=True)
        print(await reading(Path(name)))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0))
