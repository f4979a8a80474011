"""Commits that fail: everything built on them fails too, reads go on, and writing resumes by itself."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trainshed.store.faults import DiskFull, Diverged, StoreFault
from trainshed.store.records import Draft, Key, Record
from trainshed.store.sqlite import FILE_NAME
from trainshed.store.store import Make, Store

CHILDREN = Path(__file__).parent / "children"
Open = Callable[..., Store]
Text = Callable[[str], Make]

QUOTA = 400_000
ONE = Key("pods", "a", "one")


def too_big(revision: int) -> Draft:
    return Draft(b"x" * (2 * QUOTA))


async def outcomes(*writes: asyncio.Future[Record]) -> list[str]:
    results = await asyncio.gather(*writes, return_exceptions=True)
    return [type(result).__name__ for result in results]


async def test_a_write_that_does_not_fit_fails_and_leaves_everything_as_it_was(
    open_store: Open, text: Text
) -> None:
    store = open_store(quota_bytes=QUOTA)
    before = await store.put(ONE, text("a"))
    watcher = store.watch("pods", None, store.revision)
    writing = store.put(ONE, too_big)
    assert store.head(ONE) is not before
    with pytest.raises(DiskFull, match="no space left") as full:
        await writing
    assert full.value.code == 503
    assert store.head(ONE) is store.get(ONE) is before
    assert await watcher.next(0) == []
    assert store.revision == 1


async def test_writes_queued_on_top_of_a_lost_one_are_lost_with_it(open_store: Open, text: Text) -> None:
    store = open_store(quota_bytes=QUOTA)
    names = await outcomes(store.put(ONE, too_big), store.put(ONE, text("b")), store.delete(ONE, text("c")))
    assert names == ["DiskFull", "DiskFull", "DiskFull"]
    assert store.head(ONE) is None


async def test_writing_resumes_by_itself_and_no_revision_is_used_twice(open_store: Open, text: Text) -> None:
    store = open_store(quota_bytes=QUOTA)
    stamped: list[int] = []

    def stamp(revision: int) -> Draft:
        stamped.append(revision)
        return too_big(revision)

    for _ in range(3):
        assert await outcomes(store.put(ONE, stamp)) == ["DiskFull"]
    record = await store.put(ONE, text("fits"))
    assert record.revision not in stamped
    assert record.revision > max(stamped)
    await store.close()
    assert open_store().list("pods") == [record]


async def test_a_full_database_makes_room_by_forgetting_its_history(open_store: Open, text: Text) -> None:
    store = open_store(quota_bytes=QUOTA, window_bytes=10 * QUOTA)
    results = []
    for _ in range(200):
        results += await outcomes(store.put(ONE, text("x" * 10_000)))
    assert "DiskFull" in results
    assert results.count("Record") > 150
    assert store.compacted > 0


async def test_the_store_tells_its_trouble_until_writing_works_again(open_store: Open, text: Text) -> None:
    store = open_store(quota_bytes=QUOTA)
    assert store.trouble == ""
    await outcomes(store.put(ONE, text("x" * 2 * QUOTA)))
    assert "space" in store.trouble
    await store.put(ONE, text("small"))
    assert store.trouble == ""


async def test_the_database_itself_refuses_a_second_history_of_a_key(
    open_store: Open, text: Text, tmp_path: Path
) -> None:
    """The second belt: a row that came from elsewhere makes the store's own next write of that key fail."""
    store = open_store()
    with sqlite3.connect(tmp_path / "data" / FILE_NAME) as stranger:
        stranger.execute(
            "INSERT INTO revisions VALUES (77, 'pods', 'a', 'one', 77, 0, 0, '[\"\",[],null]', x'00')"
        )
    stranger.close()
    with pytest.raises(Diverged):
        await store.put(ONE, text("a"))
    assert (await store.put(Key("pods", "a", "two"), text("b"))).revision == 2


def test_files_that_cannot_grow_fail_writes_until_they_can_again(tmp_path: Path) -> None:
    command = [sys.executable, str(CHILDREN / "limits.py"), str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["before"], seen["after"], seen["readable"]) == ("durable", "durable", True)
    lost = [f"during-{number}" for number, result in enumerate(seen["during"]) if result != "durable"]
    assert lost
    assert set(seen["during"]) <= {"durable", "DiskFull", "DiskFailed"}
    assert seen["reopened"] == seen["listed"]
    assert not set(lost) & set(seen["listed"])


async def test_a_failure_nobody_waits_for_is_silent(open_store: Open, text: Text) -> None:
    store = open_store(quota_bytes=QUOTA)
    store.put(ONE, too_big).cancel()
    with pytest.raises(StoreFault):
        await store.put(ONE, text("a"))
