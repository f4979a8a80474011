"""Stores that are closed when the test ends, whatever it did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from trainshed.store.records import Draft
from trainshed.store.settings import Settings
from trainshed.store.store import Make, Store

Open = Callable[..., Store]


@pytest.fixture
async def open_store(tmp_path: Path) -> AsyncIterator[Open]:
    """Opens the test's data folder; again, after `close`, to see what a restart sees."""
    opened: list[Store] = []

    def open_it(**settings: int) -> Store:
        opened.append(Store.open(tmp_path / "data", Settings(**settings)))
        return opened[-1]

    yield open_it
    for store in opened:
        await store.close()


@pytest.fixture
def text() -> Callable[[str], Make]:
    """`text("a")` makes the draft `a@<revision>`."""
    return lambda words: lambda revision: Draft(f"{words}@{revision}".encode())
