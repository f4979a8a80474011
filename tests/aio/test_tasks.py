"""Named, guarded background tasks."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests import waits
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


# --- what is kept -------------------------------------------------------------------------------------------


async def test_what_is_kept_starts_again_and_is_down_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    down = dict[str, str]()
    seen: list[dict[str, str]] = []
    third = asyncio.Event()

    async def live() -> None:
        seen.append(dict(down))
        if len(seen) == 1:
            raise RuntimeError("broken")
        if len(seen) > 2:
            third.set()
            await forever()

    async def is_up() -> None:
        assert not down

    async with asyncio.timeout(20), Tasks(again=0.01, down=down) as tasks:
        task = tasks.keep("index", live)
        await third.wait()
        await waits.eventually(is_up)
        assert not task.done()
    assert seen == [{}, {"index": "RuntimeError: broken"}, {"index": "ended by itself"}]
    assert task.cancelled()
    assert "Task index failed and starts again" in caplog.text
    assert "Task index ended by itself and starts again" in caplog.text


async def test_what_fails_for_ever_is_tried_ever_more_seldom_and_stays_down() -> None:
    loop, moments = asyncio.get_running_loop(), list[float]()
    enough = asyncio.Event()

    async def live() -> None:
        moments.append(loop.time())
        if len(moments) == 5:
            enough.set()
        raise RuntimeError("broken")

    async with asyncio.timeout(20), Tasks(again=0.02, longest=0.08) as tasks:
        tasks.keep("index", live)
        await enough.wait()
        assert tasks.down == {"index": "RuntimeError: broken"}
    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert all(pause >= least for pause, least in zip(pauses, (0.019, 0.039, 0.079, 0.079), strict=True))
