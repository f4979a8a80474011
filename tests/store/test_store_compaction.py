"""Compaction: replaced rows leave the disk in small steps, and nobody who looks at the state can tell."""

from __future__ import annotations

import asyncio
import sqlite3
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from trainshed.store.faults import Compacted
from trainshed.store.records import Draft, Key
from trainshed.store.settings import Settings
from trainshed.store.sqlite import FILE_NAME, Database
from trainshed.store.store import Make, Store

Open = Callable[..., Store]
Text = Callable[[str], Make]

SMALL = {"window_events": 20, "compaction_step": 7}


def pod(name: str) -> Key:
    return Key("pods", "a", name)


def rows(folder: Path) -> list[tuple[int, str, int, int]]:
    with sqlite3.connect(folder / "data" / FILE_NAME) as connection:
        found = connection.execute(
            "SELECT revision, name, previous, deleted FROM revisions ORDER BY revision"
        )
        listed = found.fetchall()
    connection.close()
    return listed


async def test_replaced_and_deleted_rows_leave_the_disk(open_store: Open, text: Text, tmp_path: Path) -> None:
    store = open_store(**SMALL)
    await store.put(pod("kept"), text("x"))
    for number in range(100):
        await store.put(pod(f"p{number % 5}"), text("x"))
        if number % 10 == 9:
            await store.delete(pod(f"p{number % 5}"), text("x"))
    await store.close()
    left = rows(tmp_path)
    assert left[0][:2] == (1, "kept")
    assert len(left) <= 20 + 7 + 6
    assert store.revision == 111


async def test_the_state_after_compaction_and_restart_is_the_state_before(
    open_store: Open, text: Text
) -> None:
    store = open_store(**SMALL)
    for number in range(200):
        await store.put(pod(f"p{number % 17}"), text("x"))
        if number % 3 == 0:
            await store.delete(pod(f"p{number % 17}"), text("x"))
    before, revision = store.list("pods"), store.revision
    await store.close()
    again = open_store(**SMALL)
    assert (again.list("pods"), again.revision) == (before, revision)


async def test_the_revision_goes_on_even_when_the_newest_rows_are_gone(
    open_store: Open, text: Text, tmp_path: Path
) -> None:
    store = open_store(window_events=0)
    await store.put(pod("one"), text("x"))
    await store.delete(pod("one"), text("x"))
    await store.close()
    assert rows(tmp_path) == []
    again = open_store(window_events=0)
    assert (again.revision, again.compacted) == (2, 2)
    assert (await again.put(pod("one"), text("x"))).revision == 3


async def test_a_key_comes_back_before_during_and_after_compaction_of_its_grave(
    open_store: Open, text: Text
) -> None:
    store = open_store(window_events=5, compaction_step=2)
    for number in range(60):
        record = await store.put(pod("phoenix"), text("x"))
        assert record.created == record.revision
        await store.delete(pod("phoenix"), text("x"))
        for other in range(number % 7):
            await store.put(pod(f"other-{other}"), text("x"))


async def test_a_smaller_window_applies_to_what_an_earlier_run_kept(open_store: Open, text: Text) -> None:
    store = open_store()
    for _ in range(50):
        await store.put(pod("one"), text("x"))
    assert store.compacted == 0
    await store.close()
    again = open_store(window_events=10)
    assert again.compacted >= 40
    with pytest.raises(Compacted):
        again.watch("pods", None, 39)


async def test_writers_go_on_while_much_is_compacted(open_store: Open, text: Text, tmp_path: Path) -> None:
    store = open_store(window_events=100_000)
    await asyncio.gather(*(store.put(pod(f"p{number % 10}"), text("x" * 500)) for number in range(5000)))
    await store.close()
    again = open_store(window_events=100, compaction_step=50)
    record = await again.put(pod("quick"), text("x"))
    assert record.revision == 5001
    assert len(rows(tmp_path)) > 1000, "the write did not wait for the whole compaction"
    await again.close()


def test_every_commit_is_synced_and_stays_so_after_compaction(tmp_path: Path) -> None:
    database = Database(tmp_path, Settings())
    assert database.synchronous == 2
    database.compact(0, 0)
    assert database.synchronous == 2
    database.close()


async def test_twenty_thousand_objects_cost_little_more_than_their_bytes(tmp_path: Path) -> None:
    store = Store.open(tmp_path, Settings())
    tracemalloc.start()
    try:
        for start in range(0, 20_000, 1000):
            names = (f"object-{start + number}" for number in range(1000))
            await asyncio.gather(*(store.put(pod(name), _kilobyte(name)) for name in names))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    await store.close()
    assert used < 32e6


def _kilobyte(name: str) -> Make:
    return lambda revision: Draft(f"{name}@{revision}".encode().ljust(1024), uid=f"{revision:036d}")
