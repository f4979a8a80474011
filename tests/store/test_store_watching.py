"""Watching: every event once and in order, cheap for those not concerned, cut off instead of buffered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from trainshed.store.faults import Compacted
from trainshed.store.records import Event, Key
from trainshed.store.store import Make, Store

Open = Callable[..., Store]
Text = Callable[[str], Make]

SOON = 20.0
"""Long enough for any machine; a test that works never waits for it."""


def pod(name: str, namespace: str = "a") -> Key:
    return Key("pods", namespace, name)


def told(events: Sequence[Event]) -> list[tuple[str, str, int]]:
    return [(event.type, event.record.key.name, event.record.revision) for event in events]


async def test_a_watch_returns_each_change_with_what_it_replaced(open_store: Open, text: Text) -> None:
    store = open_store()
    watcher = store.watch("pods", None, 0)
    first = await store.put(pod("one"), text("a"))
    second = await store.put(pod("one"), text("b"))
    gone = await store.delete(pod("one"), text("c"))
    events = await watcher.next(SOON)
    assert [(event.type, event.record, event.previous) for event in events] == [
        ("ADDED", first, None),
        ("MODIFIED", second, first),
        ("DELETED", gone, second),
    ]
    assert watcher.revision == 3


async def test_a_waiting_watcher_is_woken_once_per_batch(open_store: Open, text: Text) -> None:
    store = open_store()
    watcher = store.watch("pods", None, 0)
    waiting = asyncio.ensure_future(watcher.next(SOON))
    await asyncio.sleep(0)
    await asyncio.gather(*(store.put(pod(f"p{number}"), text("x")) for number in range(50)))
    events = [*await waiting]
    while len(events) < 50:
        events += await watcher.next(SOON)
    assert [event.record.revision for event in events] == list(range(1, 51))


async def test_a_watch_resumes_after_any_revision(open_store: Open, text: Text) -> None:
    store = open_store()
    for number in range(5):
        await store.put(pod(f"p{number}"), text("x"))
    for since in range(6):
        events = await store.watch("pods", None, since).next(0)
        assert [event.record.revision for event in events] == list(range(since + 1, 6))


async def test_a_watch_from_the_future_waits_for_what_comes_after_it(open_store: Open, text: Text) -> None:
    store = open_store()
    watcher = store.watch("pods", None, 2)
    for number in range(3):
        await store.put(pod(f"p{number}"), text("x"))
    assert told(await watcher.next(SOON)) == [("ADDED", "p2", 3)]


async def test_other_namespaces_and_resources_pass_silently_but_move_the_progress(
    open_store: Open, text: Text
) -> None:
    store = open_store()
    watcher = store.watch("pods", "a", 0)
    await store.put(pod("one", "b"), text("x"))
    await store.put(Key("jobs", "a", "j"), text("x"))
    assert await watcher.next(0) == []
    assert watcher.revision == 2
    waiting = asyncio.ensure_future(watcher.next(SOON))
    await store.put(pod("two", "b"), text("x"))
    assert not waiting.done()
    await store.put(pod("three", "a"), text("x"))
    assert told(await waiting) == [("ADDED", "three", 4)]


async def test_a_timeout_returns_nothing_and_the_progress_for_a_bookmark(
    open_store: Open, text: Text
) -> None:
    store = open_store()
    watcher = store.watch("pods", None, 0)
    waiting = asyncio.ensure_future(watcher.next(0.05))
    await store.put(Key("jobs", "a", "j"), text("x"))
    assert await waiting == []
    assert watcher.revision == 1


async def test_close_ends_a_wait(open_store: Open) -> None:
    watcher = open_store().watch("pods", None, 0)
    waiting = asyncio.ensure_future(watcher.next(None))
    await asyncio.sleep(0)
    watcher.close()
    assert await asyncio.wait_for(waiting, SOON) == []
    watcher.close()


async def test_a_cancelled_wait_loses_no_event(open_store: Open, text: Text) -> None:
    store = open_store()
    watcher = store.watch("pods", "a", 0)
    for number in range(30):
        waiting = asyncio.ensure_future(watcher.next(SOON))
        await asyncio.sleep(0)
        writing = store.put(pod(f"p{number}"), text("x"))
        if number % 3 == 0:
            waiting.cancel()
        await writing
        waiting.cancel()
        result = (await asyncio.gather(waiting, return_exceptions=True))[0]
        events = await watcher.next(0) if isinstance(result, BaseException) else result
        assert [event.record.key.name for event in events] == [f"p{number}"]


async def test_a_slow_watcher_is_cut_off_when_the_window_has_passed(open_store: Open, text: Text) -> None:
    store = open_store(window_events=10)
    watcher = store.watch("pods", None, 0)
    for number in range(30):
        await store.put(pod(f"p{number}"), text("x"))
    with pytest.raises(Compacted) as cut:
        await watcher.next(SOON)
    assert cut.value.compacted == store.compacted > 0
    assert cut.value.code == 410
    with pytest.raises(Compacted):
        store.watch("pods", None, store.compacted - 1)
    assert await store.watch("pods", None, store.compacted).next(0)


async def test_a_watcher_asleep_in_a_quiet_namespace_is_never_cut_off(open_store: Open, text: Text) -> None:
    store = open_store(window_events=10)
    watcher = store.watch("pods", "quiet", 0)
    waiting = asyncio.ensure_future(watcher.next(SOON))
    for number in range(50):
        await store.put(pod(f"p{number}", "busy"), text("x"))
    await store.put(pod("here", "quiet"), text("x"))
    assert told(await waiting) == [("ADDED", "here", 51)]


async def test_a_busy_resource_does_not_age_the_watches_of_a_quiet_one(open_store: Open, text: Text) -> None:
    store = open_store(window_events=10)
    await store.put(Key("jobs", "a", "j"), text("x"))
    for number in range(50):
        await store.put(pod(f"p{number}"), text("x"))
    assert store.compacted > 1
    assert await store.watch("jobs", None, 1).next(0) == []


async def test_the_window_is_bounded_by_the_bytes_it_holds(open_store: Open, text: Text) -> None:
    store = open_store(window_bytes=100_000)
    for _ in range(30):
        await store.put(pod("one"), text("x" * 10_000))
    assert 15 <= store.compacted < 30


async def test_watchers_resume_across_a_restart_inside_the_window(open_store: Open, text: Text) -> None:
    store = open_store(window_events=10)
    for number in range(25):
        await store.put(pod(f"p{number % 4}"), text("x"))
    await store.delete(pod("p0"), text("gone"))
    since, events = store.compacted, await store.watch("pods", None, store.compacted).next(0)
    await store.close()
    again = open_store(window_events=10)
    assert await again.watch("pods", None, since).next(0) == events
    with pytest.raises(Compacted):
        again.watch("pods", None, 1)
    await again.put(pod("new"), text("x"))
    assert told(await again.watch("pods", None, 26).next(SOON)) == [("ADDED", "new", 27)]


async def test_thousands_of_sleeping_watchers_cost_other_writers_nothing(
    open_store: Open, text: Text
) -> None:
    store = open_store()
    sleepers = [
        asyncio.ensure_future(store.watch("pods", f"space-{number}", 0).next(None)) for number in range(5000)
    ]
    await asyncio.sleep(0)
    for number in range(20):
        await store.put(pod(f"p{number}", "space-7"), text("x"))
        await store.put(Key("jobs", "a", f"j{number}"), text("x"))
    assert [number for number, sleeper in enumerate(sleepers) if sleeper.done()] == [7]
    for sleeper in sleepers:
        sleeper.cancel()
    await asyncio.gather(*sleepers, return_exceptions=True)


async def test_a_reader_that_is_far_behind_gets_its_events_in_batches(open_store: Open, text: Text) -> None:
    store = open_store()
    watcher = store.watch("pods", "a", 0)
    await asyncio.gather(
        *(store.put(pod(f"p{number}", "ab"[number % 2]), text("x" * 10_000)) for number in range(100))
    )
    seen: list[int] = []
    while len(seen) < 50:
        batch = await watcher.next(0)
        assert 0 < sum(len(event.record.value) for event in batch) < 100_000
        seen += [event.record.revision for event in batch]
        # Progress may be told to others only as far as everything before it was returned.
        assert watcher.revision == (100 if len(seen) == 50 else seen[-1])
    assert seen == list(range(1, 101, 2))
    assert await watcher.next(0) == []
