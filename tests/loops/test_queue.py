"""Queues of keys: once each, one worker per key, later when asked."""

from __future__ import annotations

import asyncio
import random

import pytest

from trainshed.loop.keys import Key
from trainshed.loop.queue import Queue

A, B = Key("n", "a"), Key("n", "b")


async def take(queue: Queue) -> Key:
    async with asyncio.timeout(5):
        return await queue.take()


def idle(queue: Queue) -> bool:
    return len(queue) == 0


async def test_keys_come_out_in_order_and_once() -> None:
    queue = Queue()
    for key in (A, B, A):
        queue.add(key)
    assert [await take(queue), await take(queue)] == [A, B]
    assert idle(queue)


async def test_a_key_in_work_comes_up_again_only_when_the_work_is_done() -> None:
    queue = Queue()
    queue.add(A)
    assert await take(queue) == A
    queue.add(A)
    queue.add(B)
    assert await take(queue) == B
    waiting = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.done(A)
    assert await waiting == A


async def test_a_taker_that_gives_up_leaves_the_key_to_the_next() -> None:
    queue = Queue()
    first, second = asyncio.create_task(queue.take()), asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    queue.add(A)
    first.cancel()
    assert await asyncio.wait_for(second, 5) == A
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_of_two_delays_the_shorter_counts() -> None:
    queue, loop = Queue(), asyncio.get_running_loop()
    queue.add_after(A, 60)
    queue.add_after(A, 0.02)
    queue.add_after(A, 60)
    start = loop.time()
    assert await take(queue) == A
    assert 0.01 < loop.time() - start < 3


async def test_work_that_begins_turns_the_alarm_off() -> None:
    queue = Queue()
    queue.add_after(A, 0.01)
    queue.add(A)
    await take(queue)
    queue.done(A)
    await asyncio.sleep(0.03)
    assert idle(queue)


async def test_failures_of_a_key_wait_longer_until_it_succeeds() -> None:
    queue = Queue()
    assert [queue.retry(A), queue.retry(A), queue.retry(B)] == [0.005, 0.01, 0.005]
    queue.succeeded(A)
    assert queue.retry(A) == 0.005
    assert queue.retry(A, after=1.5) == 1.5
    queue.close()


async def test_no_alarm_rings_after_the_end() -> None:
    queue = Queue()
    queue.add_after(A, 0.01)
    queue.close()
    await asyncio.sleep(0.03)
    assert idle(queue)


async def test_many_workers_never_work_on_one_key_at_once_and_miss_none() -> None:
    queue, chance = Queue(), random.Random(7)
    keys = [Key("n", str(number)) for number in range(5)]
    working: set[Key] = set()
    wanted = dict.fromkeys(keys, 0)
    served = dict.fromkeys(keys, -1)
    quiet = asyncio.Event()

    async def work() -> None:
        while True:
            key = await queue.take()
            assert key not in working
            working.add(key)
            served[key] = wanted[key]
            await asyncio.sleep(chance.random() / 1000)
            working.discard(key)
            queue.done(key)
            if idle(queue) and not working:
                quiet.set()

    workers = [asyncio.create_task(work()) for _ in range(4)]
    for _ in range(300):
        key = chance.choice(keys)
        wanted[key] += 1
        queue.add(key)
        quiet.clear()
        if chance.random() < 0.2:
            await asyncio.sleep(0)
    await asyncio.wait_for(quiet.wait(), 10)
    assert served == wanted
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
