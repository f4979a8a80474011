"""The server's chores when they come late, and when they fail for long."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.builders import a_config_map, a_definition, a_namespace
from trainshed.apiserver import assembly, housekeeping, removal, writes
from trainshed.apiserver.definitions import RESOURCE, Definitions
from trainshed.apiserver.housekeeping import Housekeeper
from trainshed.apiserver.namespaces import Namespaces
from trainshed.apiserver.state import State
from trainshed.kube.objects import Object
from trainshed.store.records import Key

SECONDS = 10.0
BACKGROUND = removal.Options("Background")


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    """A server's state with its own housekeeping at work, in this process."""
    running = assembly.running(tmp_path / "data", tmp_path / "cache", "127.0.0.1", "https://127.0.0.1:1")
    async with running as application:
        yield application.state


def a_widget_definition() -> Object:
    return a_definition("widgets", "Widget", "example.com", {"type": "object"})


async def make(state: State, resource: str, obj: Object, namespace: str = "") -> Key:
    kind = state.registry.stored(resource)
    assert kind is not None
    writer = writes.Writer("test", writes.SYSTEM)
    return (await writes.insert(state, kind, obj, writer, namespace)).key


async def remove(state: State, key: Key) -> None:
    """Delete an object and wait until it is away."""
    watcher = state.store.watch(key.resource, None, state.store.revision)
    kind, record = state.registry.stored(key.resource), state.store.head(key)
    assert kind is not None
    assert record is not None
    await removal.remove(state, kind, record, BACKGROUND)
    while state.store.get(key) is not None:
        assert await watcher.next(SECONDS), f"{key} stays"


async def done(keeper: Housekeeper) -> None:
    """Let a keeper do all it was told."""
    finished = asyncio.Event()
    work = asyncio.create_task(keeper.run())

    async def finish() -> None:
        finished.set()

    keeper.add("the last chore", finish)
    async with asyncio.timeout(SECONDS):
        await finished.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def test_a_late_chore_does_not_empty_a_new_namespace_of_that_name(state: State) -> None:
    keeper = Housekeeper("late")
    state.after_write.append(Namespaces(state, keeper, "").notice)
    name = f"n-{secrets.token_hex(4)}"
    await remove(state, await make(state, "namespaces", a_namespace(name)))
    home = await make(state, "namespaces", a_namespace(name))
    inside = await make(state, "configmaps", a_config_map("inside"), name)
    await done(keeper)
    assert state.store.head(home) is not None
    assert state.store.head(inside) is not None


async def test_a_late_chore_does_not_remove_the_objects_of_a_new_definition(state: State) -> None:
    keeper = Housekeeper("late")
    state.after_write.append(Definitions(state, keeper, lambda name: None).notice)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "inside"}}
    await remove(state, await make(state, RESOURCE, a_widget_definition()))
    await make(state, RESOURCE, a_widget_definition())
    inside = await make(state, "widgets.example.com", widget, "default")
    await done(keeper)
    assert state.store.head(inside) is not None


def test_a_chore_that_fails_for_days_is_tried_again_every_half_minute() -> None:
    waits: list[float] = list(map(housekeeping.delay, range(1, 5000)))
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (0.1, 30.0)
