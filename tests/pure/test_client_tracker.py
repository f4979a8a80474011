"""The story a watch tells is gapless, whatever lists and streams it is made from."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.client.tracker import Change, Tracker
from trainshed.kube.objects import Object


def an_object(name: str, uid: str, revision: int) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(revision)}}


def told(changes: Iterable[Change]) -> list[str]:
    return [change.type for change in changes]


A1, A2, B1 = an_object("a", "u", 1), an_object("a", "u", 2), an_object("a", "v", 3)


class TestLists:
    def test_the_first_list_adds_everything(self) -> None:
        assert told(Tracker().replace([A1])) == ["ADDED", "SYNCED"]

    def test_a_list_that_says_the_same_changes_nothing(self) -> None:
        tracker = Tracker()
        list(tracker.replace([A1]))
        assert told(tracker.replace([A1])) == ["SYNCED"]

    def test_what_is_missing_was_deleted_and_is_told_as_it_was(self) -> None:
        tracker = Tracker()
        list(tracker.replace([A1]))
        assert list(tracker.replace([])) == [Change("DELETED", A1), Change("SYNCED")]

    def test_another_object_of_the_same_name_is_a_deletion_and_an_addition(self) -> None:
        tracker = Tracker()
        list(tracker.replace([A1]))
        assert list(tracker.replace([B1])) == [Change("DELETED", A1), Change("ADDED", B1), Change("SYNCED")]


class TestStreams:
    def test_an_event_told_twice_is_told_once(self) -> None:
        tracker = Tracker()
        assert [told(tracker.present(A1)), told(tracker.present(A1))] == [["ADDED"], []]
        assert [told(tracker.absent(A2)), told(tracker.absent(A2))] == [["DELETED"], []]

    def test_the_deletion_of_a_predecessor_is_old_news(self) -> None:
        tracker = Tracker()
        list(tracker.present(B1))
        assert told(tracker.absent(A1)) == []


writes = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["put", "delete"])), max_size=30)


class World:
    """A server's state and the events that led to it."""

    def __init__(self) -> None:
        self.state: dict[str, Object] = {}
        self.events: list[tuple[str, Object]] = []

    def write(self, name: str, verb: str) -> None:
        before, revision = self.state.get(name), len(self.events) + 1
        if verb == "put":
            uid = before["metadata"]["uid"] if before else f"uid-{revision}"
            self.state[name] = an_object(name, uid, revision)
            self.events.append(("MODIFIED" if before else "ADDED", self.state[name]))
        elif before:
            del self.state[name]
            self.events.append(("DELETED", an_object(name, before["metadata"]["uid"], revision)))


class Reader:
    """A consumer that fails on any step that does not follow from the one before."""

    def __init__(self) -> None:
        self.state: dict[str, Object] = {}

    def read(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.type == "SYNCED":
                continue
            name = change.object["metadata"]["name"]
            assert (name in self.state) == (change.type != "ADDED")
            if change.type == "DELETED":
                assert self.state.pop(name)["metadata"]["uid"] == change.object["metadata"]["uid"]
            else:
                self.state[name] = change.object


@given(writes, st.data())
@settings(deadline=None)
def test_any_mixture_of_lists_and_streams_ends_with_the_servers_state(
    steps: list[tuple[str, str]], data: st.DataObject
) -> None:
    world, tracker, reader, seen = World(), Tracker(), Reader(), 0
    for name, verb in steps:
        world.write(name, verb)
        how = data.draw(st.sampled_from(["wait", "follow", "relist", "repeat"]))
        if how == "relist":
            reader.read(tracker.replace(list(world.state.values())))
            seen = len(world.events)
        elif how in ("follow", "repeat"):
            for type, obj in world.events[seen:]:
                for _ in range(2 if how == "repeat" else 1):
                    reader.read(tracker.absent(obj) if type == "DELETED" else tracker.present(obj))
            seen = len(world.events)
    reader.read(tracker.replace(list(world.state.values())))
    assert reader.state == world.state
