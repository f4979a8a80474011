"""Caches: never behind our own writes nor behind the watch, whichever comes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube.objects import JSON, Object
from trainshed.loop import cache as caching
from trainshed.loop.cache import Cache
from trainshed.loop.keys import Key, key_of


def an_object(name: str = "a", revision: int = 1, uid: str = "u", **meta: JSON) -> Object:
    found = {"namespace": "n", "name": name, "uid": uid, "resourceVersion": str(revision), **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": found}


def owned(name: str, owner: str, **meta: JSON) -> Object:
    reference = {"kind": "Job", "name": "j", "uid": owner, "controller": True}
    return an_object(name, ownerReferences=[reference], **meta)


A = Key("n", "a")


def test_what_was_learned_is_found_by_key_and_by_namespace() -> None:
    cache = Cache()
    here, there = an_object(), an_object(namespace="m", uid="v")
    assert cache.learn(here)
    assert cache.learn(there)
    assert cache.get(A) is here
    assert cache.list("n") == [here]
    assert cache.list() == [here, there]
    assert cache.list("elsewhere") == []
    assert len(cache) == 2


def test_older_news_never_replaces_newer() -> None:
    cache = Cache()
    newer = an_object(revision=10)
    cache.learn(newer)
    assert not cache.learn(an_object(revision=9))
    assert not cache.learn(an_object(revision=10))
    assert cache.get(A) is newer


def test_a_deleted_object_does_not_come_back_by_old_news() -> None:
    cache = Cache()
    cache.learn(an_object())
    assert cache.forget(A, "u")
    assert not cache.learn(an_object(revision=99))
    assert cache.get(A) is None


def test_an_answer_that_comes_after_the_deletion_is_old_news_too() -> None:
    cache = Cache()
    assert not cache.forget(A, "u")
    assert not cache.learn(an_object())


def test_a_successor_of_the_same_name_is_another_object() -> None:
    cache = Cache()
    cache.learn(an_object(uid="u", revision=1))
    successor = an_object(uid="v", revision=2)
    assert cache.learn(successor)
    assert not cache.forget(A, "u")
    assert cache.get(A) is successor


def test_objects_are_found_by_their_controller() -> None:
    cache = Cache()
    cache.learn(owned("a", "o1", uid="1"))
    cache.learn(owned("b", "o2", uid="2"))
    assert [key_of(obj).name for obj in cache.owned_by("o1")] == ["a"]
    cache.learn(owned("a", "o2", uid="1", resourceVersion="2"))
    assert cache.owned_by("o1") == []
    assert sorted(key_of(obj).name for obj in cache.owned_by("o2")) == ["a", "b"]


def test_objects_are_found_by_labels_that_are_indexed() -> None:
    cache = Cache(["app"])
    cache.learn(an_object(labels={"app": "x"}))
    assert len(cache.labelled("app", "x")) == 1
    cache.learn(an_object(revision=2, labels={"app": "y"}))
    assert cache.labelled("app", "x") == []
    cache.forget(A, "u")
    assert cache.labelled("app", "y") == []
    with pytest.raises(LookupError, match="no watch indexes the label team"):
        cache.labelled("team", "x")


def test_listeners_hear_of_each_change_once() -> None:
    heard: list[tuple[int, int]] = []
    cache = Cache()
    cache.listen(lambda before, after: heard.append((_revision(before), _revision(after))))
    cache.learn(an_object(revision=1))
    cache.learn(an_object(revision=2))
    cache.learn(an_object(revision=2))
    cache.forget(A, "u")
    cache.forget(A, "u")
    assert heard == [(0, 1), (1, 2), (2, 0)]


def _revision(obj: Object | None) -> int:
    return caching.revision(obj) if obj else 0


def test_old_tombstones_are_dropped_in_the_end() -> None:
    cache = Cache(most_tombstones=2)
    for uid in ("u", "v", "w"):
        cache.forget(A, uid)
    assert cache.learn(an_object(uid="u"))
    assert not cache.learn(an_object(uid="w", revision=9))


# --- laws -------------------------------------------------------------------------------------------------

Story = list[tuple[str, int]]


@st.composite
def _lives(draw: st.DrawFn) -> tuple[Story, list[int]]:
    """The life of one name as (uid, revision), deletions being negative, and an order of the news of it."""
    story: Story = []
    revision = 0
    for life in range(draw(st.integers(1, 3))):
        for _ in range(draw(st.integers(1, 3))):
            revision += 1
            story.append((f"uid-{life}", revision))
        revision += 1
        story.append((f"uid-{life}", -revision))
    if draw(st.booleans()):
        story.pop()
    news = draw(st.permutations(range(len(story))))
    return story, [*news, *draw(st.lists(st.integers(0, len(story) - 1), max_size=4))]


@given(_lives())
def test_whatever_the_order_of_news_the_last_word_stands(lives: tuple[Story, list[int]]) -> None:
    story, news = lives
    cache = Cache(["app"])
    for at in news:
        uid, revision = story[at]
        if revision < 0:
            cache.forget(A, uid)
        else:
            cache.learn(an_object(uid=uid, revision=revision, labels={"app": uid}))
    uid, revision = story[-1]
    found = cache.get(A)
    assert (found is None) == (revision < 0)
    if found is not None:
        assert found["metadata"]["resourceVersion"] == str(revision)
        assert cache.labelled("app", uid) == cache.list() == [found]


# --- listeners ----------------------------------------------------------------------------------------------


def test_a_listener_that_fails_is_named_once_per_object_and_stops_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache, heard = Cache(), list[Object | None]()

    def fail(before: Object | None, after: Object | None) -> None:
        raise ValueError("unforeseen")

    cache.listen(fail)
    cache.listen(lambda before, after: heard.append(after))
    for revision in (1, 2, 3):
        cache.learn(an_object(revision=revision))
    cache.forget(A, "u")
    assert len(heard) == 4
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 1
    assert "n/a" in told[0]


def test_a_late_listener_hears_what_is_known_and_of_no_object_it_cannot_read() -> None:
    cache, heard = Cache(), list[str]()
    known = [an_object("a", uid="1"), an_object("b", uid="2"), an_object("c", uid="3")]
    for obj in known:
        cache.learn(obj)

    def hear(before: Object | None, after: Object | None) -> None:
        name = (after or {})["metadata"]["name"]
        if name == "b":
            raise ValueError("unforeseen")
        heard.append(name)

    cache.listen(hear, known)
    cache.learn(an_object("d", uid="4"))
    assert heard == ["a", "c", "d"]
