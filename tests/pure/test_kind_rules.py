"""Laws that hold for the rules of every built-in kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.samples import RESOURCES, an_object, created, faults, faults_of_change
from trainshed.kinds.rules import RULES
from trainshed.kube.faults import FieldError
from trainshed.kube.objects import JSON, Object, copied

JUNK: st.SearchStrategy[JSON] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 2**40, 1.5),
        *("", "x", "Always", "None", "..", "-", "1Gi", "é" * 300),
        *([], [None], [[]], [{}], [1, "a"], [{"name": "x", "containerPort": "y"}]),
        *({}, {"": None}, {"a": {}}, {"name": 1}),
    ]
)


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_sound_object_is_accepted(resource: str) -> None:
    assert faults(resource, an_object(resource)) == []


@pytest.mark.parametrize("resource", RESOURCES)
def test_writing_a_stored_object_back_is_accepted(resource: str) -> None:
    stored = created(resource, an_object(resource))
    assert faults_of_change(resource, copied(stored), stored) == []


@pytest.mark.parametrize("resource", RESOURCES)
def test_defaults_added_twice_change_nothing_more(resource: str) -> None:
    once = created(resource, an_object(resource))
    twice: Object = copied(once)
    RULES[resource].defaults(twice)
    assert twice == once


@pytest.mark.parametrize("resource", RESOURCES)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_no_content_whatever_breaks_the_rules(resource: str, data: st.DataObject) -> None:
    old = created(resource, an_object(resource))
    broken = an_object(resource)
    for _ in range(data.draw(st.integers(1, 3))):
        put_junk(broken, data)
    use_all_rules(resource, copied(broken), old)
    stored = created(resource, broken)
    use_all_rules(resource, an_object(resource), stored)


def put_junk(obj: Object, data: st.DataObject) -> None:
    """Replace one value somewhere in the object."""
    target: JSON = obj
    while True:
        choices = sorted(target) if isinstance(target, dict) else list(range(len(target)))
        if not choices:
            return
        step = data.draw(st.sampled_from(choices))
        inner = target[step]
        if (step == "metadata" and target is obj) or not isinstance(inner, dict | list):
            break
        if data.draw(st.integers(0, 3)) == 0:
            break
        target = inner
    target[step] = copied(data.draw(JUNK))


def use_all_rules(resource: str, new: Object, old: Object) -> None:
    rules = RULES[resource]
    for before in (None, old):
        obj = copied(new)
        rules.defaults(obj)
        if before is None:
            rules.on_create(obj)
        else:
            rules.on_update(obj, before)
            rules.validate_status(obj, before)
        found = rules.validate(obj, before)
        assert all(isinstance(error, FieldError) for error in found)
        assert all(isinstance(warning, str) for warning in rules.warnings(obj, before))
