"""What a launcher waits for when it runs a command in a worker, and what it gives up on."""

from __future__ import annotations

import asyncio

import pytest

from trainshed.runner.mpi import kubectl

ANSWER = "HTTP/1.1 {code} Said\r\nContent-Length: 0\r\n\r\n"


async def answered(code: int) -> bool:
    """Whether it is worth another try after such an answer."""
    reader = asyncio.StreamReader()
    reader.feed_data(ANSWER.format(code=code).encode())
    with pytest.raises(kubectl.Refused) as refused:
        await kubectl._switched(reader)
    return isinstance(refused.value, kubectl.NotYet)


@pytest.mark.parametrize("code", [403, 404, 500])
async def test_a_worker_that_is_replaced_is_waited_for(code: int) -> None:
    """Rights are for workers that are there: until the new one is, the server says Forbidden."""
    assert await answered(code)


@pytest.mark.parametrize("code", [401, 422])
async def test_what_no_time_can_heal_is_final(code: int) -> None:
    assert not await answered(code)
