"""The first pod of a job goes ahead of the others, and never holds them up for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from trainshed.kube.objects import Object
from trainshed.runner.precedence import Precedence


def a_pod(index: int, job: str = "job", phase: str = "Pending") -> Object:
    annotations = {"batch.kubernetes.io/job-completion-index": str(index)}
    labels = {"batch.kubernetes.io/controller-uid": job} if job else {}
    return {"metadata": {"annotations": annotations, "labels": labels}, "status": {"phase": phase}}


async def has_to_wait(one: Precedence, pod: Object) -> bool:
    """Whether somebody else gets a turn before the pod does."""
    turn = asyncio.ensure_future(one.turn(pod))
    await asyncio.sleep(0)
    waits = not turn.done()
    await asyncio.wait_for(turn, 5)
    return waits


@pytest.fixture
def one() -> Precedence:
    found = Precedence()
    found.see(a_pod(0))
    return found


async def test_the_others_wait_until_the_first_one_runs(one: Precedence) -> None:
    turn = asyncio.ensure_future(one.turn(a_pod(1)))
    await asyncio.sleep(0)
    assert not turn.done()
    one.begun(a_pod(0))
    await asyncio.wait_for(turn, 5)
    assert not await has_to_wait(one, a_pod(2))


async def test_the_first_one_itself_waits_for_nobody(one: Precedence) -> None:
    assert not await has_to_wait(one, a_pod(0))


async def test_a_first_one_that_never_starts_is_not_waited_for_for_ever(one: Precedence) -> None:
    assert await has_to_wait(one, a_pod(1))


@pytest.mark.parametrize(
    "over",
    [
        lambda one: one.lose(a_pod(0)),
        lambda one: one.see(a_pod(0, phase="Failed")),
        lambda one: one.see(a_pod(0, phase="Succeeded")),
        lambda one: one.see(a_pod(0, phase="Running")),
    ],
    ids=["gone", "failed", "done", "started by a former agent"],
)
async def test_nobody_waits_for_a_first_one_that_is(
    one: Precedence, over: Callable[[Precedence], None]
) -> None:
    waiting = asyncio.ensure_future(one.turn(a_pod(1)))
    await asyncio.sleep(0)
    over(one)
    await asyncio.wait_for(waiting, 5)
    assert not await has_to_wait(one, a_pod(2))


async def test_the_successor_of_a_first_one_goes_ahead_again(one: Precedence) -> None:
    one.begun(a_pod(0))
    one.lose(a_pod(0))
    one.see(a_pod(0))
    assert await has_to_wait(one, a_pod(1))


async def test_jobs_and_pods_without_one_do_not_wait_for_each_other(one: Precedence) -> None:
    one.see(a_pod(0, job=""))
    assert not await has_to_wait(one, a_pod(1, job="another"))
    assert not await has_to_wait(one, a_pod(1, job=""))
