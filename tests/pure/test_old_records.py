"""Objects that were stored before their definition was changed, as they are read now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.pure.definitions_objects import an_accepted
from trainshed.apiserver import rendering
from trainshed.kinds import custom
from trainshed.kinds.kind import Kind
from trainshed.kinds.readings import Readings
from trainshed.kube import schema
from trainshed.kube.objects import Object, decode, encode
from trainshed.store.records import Key, Record


@pytest.fixture
def kind() -> Kind:
    """Of a definition that was changed at revision 10, and says that a size is 3 unless given."""
    [found] = custom.kinds_of(an_accepted(), lambda: schema.ANYTHING, since=10)
    return found


def stored(kind: Kind, spec: Object) -> Record:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "one"}, "spec": spec}
    return Record(Key(kind.stored_as, "default", "one"), 5, 5, encode(body), None, (), "uid")


def test_what_has_the_new_shape_already_is_worked_out_once(kind: Kind) -> None:
    record = stored(kind, {"size": 1})
    assert not rendering.is_current(kind, record)
    assert rendering.shown(kind, record) == record.value
    assert rendering.is_current(kind, record)


def test_what_has_not_is_given_it_once_and_remembered(kind: Kind) -> None:
    record = stored(kind, {"former": True})
    assert decode(rendering.shown(kind, record))["spec"] == {"size": 3}
    remembered = rendering.shown(kind, record)
    assert decode(remembered)["spec"] == rendering.spoken(kind, record)["spec"] == {"size": 3}
    assert rendering.shown(kind, record) is remembered
    assert rendering.items(kind, [record]) == ([remembered], 0)
    assert not rendering.is_current(kind, record)


def test_what_was_stored_as_another_version_is_called_by_the_present_one(kind: Kind) -> None:
    record = stored(replace(kind, version="v1alpha1"), {"size": 1})
    assert b"v1alpha1" in record.value
    assert rendering.spoken(kind, record)["apiVersion"] == kind.api_version
    assert rendering.shown(kind, record).startswith(rendering.prefix(kind))


def test_what_is_remembered_has_a_bound() -> None:
    readings = Readings(most=10_000)
    for revision in range(100):
        readings.note(revision, b"stored", b"x" * 1000)
        assert readings.find(revision, b"stored") == b"x" * 1000
    assert 0 < len(readings) < 10
    for revision in range(1000):
        readings.note(revision, b"stored", b"stored")
    assert 0 < len(readings) < 100


def test_what_is_forgotten_makes_room() -> None:
    readings = Readings(most=5_000)
    readings.note(1, b"", b"first")
    for revision in range(2, 1000):
        readings.note(revision, b"", b"x" * 1000)
        readings.forget(revision)
        readings.forget(revision)
        assert readings.find(revision, b"") is None
    assert readings.find(1, b"") == b"first"
