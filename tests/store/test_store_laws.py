"""Laws of the store, whatever is done to it in whatever order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from trainshed.store.faults import Compacted, StoreFault
from trainshed.store.records import Draft, Event, Key, Record
from trainshed.store.settings import Settings
from trainshed.store.shelves import Shelf
from trainshed.store.store import Store

QUOTA = 600_000
keys = st.builds(
    Key, st.sampled_from(["pods", "jobs"]), st.sampled_from(["", "a", "b"]), st.sampled_from("xyz")
)
sizes = st.sampled_from([0, 1, 10, 3000, 2 * QUOTA])
"""The last one never fits: its commit fails, and with it whatever was queued behind."""
steps = st.lists(st.tuples(keys, st.booleans(), sizes), max_size=12)
windows = st.sampled_from([0, 3, 12, 1000])

State = dict[Key, Record]


class Machine(RuleBasedStateMachine):
    """Drives a real store on a real disk, beside a dict that holds what was acknowledged."""

    @initialize(window=windows, step=st.integers(1, 5))
    def start(self, window: int, step: int) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.settings = Settings(
            window_events=window, compaction_step=step, quota_bytes=QUOTA, batch_rows=4, checkpoint_pages=10
        )
        self.acknowledged: State = {}
        self.snapshots: list[tuple[int, State]] = [(0, {})]
        self.used: set[int] = set()
        self.store = self.runner.run(self._open())

    @rule(wanted=steps)
    def write(self, wanted: Sequence[tuple[Key, bool, int]]) -> None:
        """A burst of writes, queued in one turn of the event loop and settled together."""
        for record, deleted in self.runner.run(self._burst(wanted)):
            assert record.revision not in self.used
            self.used.add(record.revision)
            if deleted:
                del self.acknowledged[record.key]
            else:
                self.acknowledged[record.key] = record

    @rule()
    def look(self) -> None:
        self.snapshots.append((self.store.revision, dict(self.acknowledged)))

    @rule()
    def reopen(self) -> None:
        revision = self.store.revision
        self.runner.run(self.store.close())
        self.store = self.runner.run(self._open())
        assert self.store.revision == revision

    @invariant()
    def memory_shows_exactly_what_was_acknowledged(self) -> None:
        for resource in ("pods", "jobs"):
            expected = [
                self.acknowledged[key] for key in sorted(self.acknowledged) if key.resource == resource
            ]
            assert self.store.list(resource) == expected
            assert self.store.count(resource) == len(expected)
        assert all(self.store.get(key) is self.store.head(key) for key in self.acknowledged)

    @invariant()
    def list_then_watch_equals_list_later(self) -> None:
        for revision, state in self.snapshots:
            for resource in ("pods", "jobs"):
                self._replay(resource, revision, state)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.runner.run(self.store.close())
            self.runner.close()
            self.folder.cleanup()

    async def _open(self) -> Store:
        return Store.open(Path(self.folder.name), self.settings)

    async def _burst(self, wanted: Sequence[tuple[Key, bool, int]]) -> list[tuple[Record, bool]]:
        queued = [self._queue(*one) for one in wanted]
        results = await asyncio.gather(*(done for done, _ in queued), return_exceptions=True)
        settled = [(result, deleted) for result, (_, deleted) in zip(results, queued, strict=True)]
        assert all(isinstance(result, Record | StoreFault) for result, _ in settled)
        return [(result, deleted) for result, deleted in settled if isinstance(result, Record)]

    def _queue(self, key: Key, deleted: bool, size: int) -> tuple[asyncio.Future[Record], bool]:
        def make(revision: int) -> Draft:
            return Draft(b"%d:" % revision + bytes(size), {"size": str(size)}, (key.name,), key.namespace)

        deleted = deleted and self.store.head(key) is not None
        writing = (self.store.delete if deleted else self.store.put)(key, make)
        head = self.store.head(key)
        assert (head is None) if deleted else (head is not None and head.key == key)
        return writing, deleted

    def _replay(self, resource: str, revision: int, state: State) -> None:
        try:
            watcher = self.store.watch(resource, None, revision)
        except Compacted:
            assert revision < self.store.compacted
            return
        later = {key: record for key, record in state.items() if key.resource == resource}
        assert self.store.list_at(resource, None, revision) == [later[key] for key in sorted(later)]
        for event in self.runner.run(watcher.next(0)):
            _follow(later, event)
        assert [later[key] for key in sorted(later)] == self.store.list(resource)
        assert watcher.revision == self.store.revision


def _follow(state: State, event: Event) -> None:
    """What a client does with an event, checking that it makes sense to it."""
    key = event.record.key
    assert state.get(key) == event.previous
    assert event.type == ("DELETED" if event.type == "DELETED" else "MODIFIED" if key in state else "ADDED")
    if event.type == "DELETED":
        del state[key]
    else:
        state[key] = event.record


def test_any_sequence_of_writes_failures_and_restarts_keeps_the_laws() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3000)), max_size=60), st.integers(0, 2000))
def test_a_shelf_is_a_sorted_dict(changes: list[tuple[bool, int]], filled: int) -> None:
    shelf, expected = Shelf(), {}
    for number in range(filled):
        expected[f"n{number * 7 % 3001}"] = _put(shelf, f"n{number * 7 % 3001}", number)
    for revision, (deletes, number) in enumerate(changes):
        name = f"n{number}"
        if not deletes:
            expected[name] = _put(shelf, name, revision)
        elif expected.pop(name, None):
            shelf.remove(name)
    assert shelf.by_name == expected
    assert shelf.ordered() == [expected[name] for name in sorted(expected)]


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(1200)))
def test_a_shelf_emptied_in_any_order_stays_in_order(order: list[int]) -> None:
    shelf = Shelf()
    records = [_put(shelf, f"n{number:04}", number) for number in range(1200)]
    for count, number in enumerate(order):
        shelf.remove(f"n{number:04}")
        if count % 97 == 0:
            gone = set(order[: count + 1])
            assert shelf.ordered() == [record for record in records if record.revision not in gone]
    assert shelf.ordered() == []
    assert [_put(shelf, name, 1).key.name for name in ("b", "a")] == ["b", "a"]
    assert [record.key.name for record in shelf.ordered()] == ["a", "b"]


def _put(shelf: Shelf, name: str, revision: int) -> Record:
    record = Record(Key("pods", "", name), revision, revision, b"", None, (), "")
    shelf.put(record)
    return record
