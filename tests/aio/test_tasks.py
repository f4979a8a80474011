"""Named, guarded background tasks."""

from __future__ import annotations

import asyncio

import pytest

from trainshed.aio.tasks import Tasks


async def forever() -> None:
    await asyncio.Event().wait()


async def nothing() -> None:
    pass


async def fail() -> None:
    raise RuntimeError("broken")


async def refuse_to_end() -> None:
    for _ in range(2):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            continue


async def test_leaving_the_block_stops_every_task() -> None:
    async with Tasks() as tasks:
        started = [tasks.start(f"task-{number}", forever()) for number in range(3)]
        await asyncio.sleep(0)
        assert len(tasks) == 3
    assert all(task.cancelled() for task in started)
    assert len(tasks) == 0


async def test_a_failure_is_logged_by_name_and_hurts_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    async with Tasks() as tasks:
        other = tasks.start("other", forever())
        await tasks.start("sweeper", fail())
        assert not other.done()
    assert "Task sweeper failed" in caplog.text
    assert "broken" in caplog.text


async def test_an_end_in_silence_is_logged_unless_it_was_meant(caplog: pytest.LogCaptureFixture) -> None:
    async with Tasks() as tasks:
        await tasks.start("watcher", nothing())
        await tasks.start("errand", nothing(), forever=False)
    assert "Task watcher ended by itself" in caplog.text
    assert "errand" not in caplog.text


async def test_a_task_that_does_not_end_is_named_and_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    tasks = Tasks(within=0.05)
    stubborn = tasks.start("stubborn", refuse_to_end())
    await asyncio.sleep(0)
    await tasks.stop()
    assert "Task stubborn does not end" in caplog.text
    await tasks.stop()
    await asyncio.wait([stubborn], timeout=5)
    assert stubborn.done()
