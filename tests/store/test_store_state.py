"""Reading and writing: what is durable, what is on its way, in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from trainshed.store.faults import Closed, Compacted
from trainshed.store.records import Draft, Key
from trainshed.store.store import Make, Store

Open = Callable[..., Store]
Text = Callable[[str], Make]

POD = Key("pods", "team-a", "one")


def pod(name: str, namespace: str = "team-a") -> Key:
    return Key("pods", namespace, name)


async def test_a_put_is_stamped_with_its_revision_and_visible_when_it_resolves(
    open_store: Open, text: Text
) -> None:
    store = open_store()
    record = await store.put(POD, text("a"))
    assert (record.revision, record.created, record.value) == (1, 1, b"a@1")
    assert store.get(POD) is record
    assert store.revision == 1


async def test_head_sees_a_write_at_once_and_get_only_when_it_is_durable(
    open_store: Open, text: Text
) -> None:
    store = open_store()
    writing = store.put(POD, text("a"))
    head = store.head(POD)
    assert head is not None
    assert head.value == b"a@1"
    assert store.get(POD) is None
    assert store.revision == 0
    await writing
    assert store.get(POD) is head


async def test_head_keeps_showing_the_newest_of_several_writes_on_their_way(
    open_store: Open, text: Text
) -> None:
    store = open_store(batch_rows=1)
    writes = [store.put(POD, text("x")) for _ in range(10)]
    for write in writes:
        await write
        head = store.head(POD)
        assert head is not None
        assert head.revision == 10


async def test_read_modify_write_in_one_turn_never_loses_an_update(open_store: Open) -> None:
    store = open_store()

    async def add_one() -> None:
        head = store.head(POD)
        count = int(head.value) if head else 0
        await store.put(POD, lambda revision: Draft(b"%d" % (count + 1)))

    await asyncio.gather(*(add_one() for _ in range(200)))
    record = store.get(POD)
    assert record is not None
    assert (record.value, record.revision, record.created) == (b"200", 200, 1)


async def test_a_deleted_key_is_gone_and_may_come_back_as_a_new_object(open_store: Open, text: Text) -> None:
    store = open_store()
    await store.put(POD, text("a"))
    gone = await store.delete(POD, text("last"))
    assert (gone.revision, gone.created, gone.value) == (2, 1, b"last@2")
    assert store.get(POD) is None
    assert store.head(POD) is None
    again = await store.put(POD, text("b"))
    assert (again.revision, again.created) == (3, 3)


async def test_create_delete_and_create_may_be_queued_together(open_store: Open, text: Text) -> None:
    store = open_store()
    steps = [store.put(POD, text("a")), store.delete(POD, text("b")), store.put(POD, text("c"))]
    assert [record.revision for record in await asyncio.gather(*steps)] == [1, 2, 3]
    assert [record.value for record in store.list("pods")] == [b"c@3"]


async def test_deleting_what_is_not_there_is_a_key_error_and_uses_no_revision(
    open_store: Open, text: Text
) -> None:
    store = open_store()
    with pytest.raises(KeyError):
        store.delete(POD, text("x"))
    assert (await store.put(POD, text("a"))).revision == 1


async def test_a_maker_that_raises_leaves_no_trace(open_store: Open, text: Text) -> None:
    store = open_store()

    def refuse(revision: int) -> Draft:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.put(POD, refuse)
    assert store.head(POD) is None
    assert (await store.put(POD, text("a"))).revision == 1


async def test_text_that_cannot_be_stored_is_refused_before_it_is_queued(
    open_store: Open, text: Text
) -> None:
    store = open_store()
    good = store.put(POD, text("a"))
    with pytest.raises(ValueError, match="surrogates"):
        store.put(pod("\ud800"), text("b"))
    with pytest.raises(ValueError, match="surrogates"):
        store.put(pod("two"), lambda revision: Draft(b"", {"a": "\ud800"}))
    await good
    assert store.count("pods") == 1


async def test_lists_are_sorted_by_namespace_and_name(open_store: Open, text: Text) -> None:
    store = open_store()
    keys = [pod(name, space) for space in ("b", "a") for name in ("z", "m", "a")]
    await asyncio.gather(
        *(store.put(key, text("x")) for key in keys), store.put(Key("jobs", "a", "j"), text("x"))
    )
    assert [record.key for record in store.list("pods", None)] == sorted(keys)
    assert [record.key.name for record in store.list("pods", "b")] == ["a", "m", "z"]
    assert store.list("pods", "c") == store.list("unknown") == []
    assert (store.count("pods"), store.count("pods", "a"), store.count("pods", "c")) == (6, 3, 0)
    assert store.resources() == ("jobs", "pods")


async def test_a_list_is_a_snapshot(open_store: Open, text: Text) -> None:
    store = open_store()
    await store.put(POD, text("a"))
    before = store.list("pods")
    await store.put(pod("two"), text("b"))
    assert len(before) == 1


async def test_a_list_can_be_had_as_it_was_at_an_older_revision(open_store: Open, text: Text) -> None:
    store = open_store(window_events=8)
    seen = {}
    for turn in range(6):
        await store.put(pod(f"p{turn % 3}"), text("x"))
        if turn == 3:
            await store.delete(pod("p1"), text("x"))
        seen[store.revision] = store.list("pods", "team-a")
    await store.put(pod("other", "team-b"), text("x"))
    assert {revision: store.list_at("pods", "team-a", revision) for revision in seen} == seen
    for _ in range(5):
        await store.put(POD, text("x"))
    with pytest.raises(Compacted):
        store.list_at("pods", None, 1)


async def test_dependents_follow_the_owners_of_each_revision(open_store: Open) -> None:
    store = open_store()
    await store.put(POD, lambda revision: Draft(b"", owners=("u1", "u2")))
    await store.put(pod("two"), lambda revision: Draft(b"", owners=("u2",)))
    assert [record.key.name for record in store.dependents("u2")] == ["one", "two"]
    await store.put(POD, lambda revision: Draft(b"", owners=("u1",)))
    assert [record.key.name for record in store.dependents("u2")] == ["two"]
    await store.delete(pod("two"), lambda revision: Draft(b"", owners=("u2",)))
    assert store.dependents("u2") == []
    assert [record.revision for record in store.dependents("u1")] == [3]


async def test_marks_survive_a_restart(open_store: Open) -> None:
    store = open_store()
    draft = Draft(b"\x00\xff", {"app": "ü"}, ("owner",), "uid-1")
    record = await store.put(POD, lambda revision: draft)
    await store.close()
    assert open_store().get(POD) == record
    assert (record.labels, record.owners, record.uid) == ({"app": "ü"}, ("owner",), "uid-1")


async def test_unchanged_marks_are_kept_once(open_store: Open) -> None:
    store = open_store()
    first = await store.put(POD, lambda revision: Draft(b"a", {"app": "x"}, ("o",), "uid"))
    second = await store.put(POD, lambda revision: Draft(b"b", {"app": "x"}, ("o",), "uid"))
    assert second.labels is first.labels
    assert second.key is first.key


async def test_revision_of_tells_the_last_change_of_some_resources(open_store: Open, text: Text) -> None:
    store = open_store()
    await store.put(POD, text("a"))
    await store.put(Key("jobs", "team-a", "j"), text("b"))
    assert (store.revision_of("pods"), store.revision_of("jobs")) == (1, 2)
    assert (store.revision_of("pods", "jobs", "nothing"), store.revision_of("nothing")) == (2, 0)
    await store.close()
    again = open_store()
    assert (again.revision_of("pods"), again.revision_of("jobs")) == (1, 2)


async def test_a_writer_that_goes_away_does_not_take_its_write_along(open_store: Open, text: Text) -> None:
    store = open_store()
    store.put(POD, text("a")).cancel()
    await store.put(pod("two"), text("b"))
    assert store.get(POD) is not None


async def test_close_finishes_what_was_queued_and_refuses_more(open_store: Open, text: Text) -> None:
    store = open_store()
    writes = [store.put(pod(f"p{number}"), text("x")) for number in range(1000)]
    await store.close()
    assert all(write.done() and write.exception() is None for write in writes)
    with pytest.raises(Closed):
        store.put(POD, text("late"))
    assert open_store().count("pods") == 1000
