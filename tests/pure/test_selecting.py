"""Which records a selection is about: what is ruled out by a glance at the bytes is not in it anyway."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.apiserver import selecting
from trainshed.apiserver.requests import Query
from trainshed.apiserver.selecting import Selection
from trainshed.kinds.builtin import builtin
from trainshed.kinds.kind import Kind
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import JSON, encode
from trainshed.store.records import Key, Record

VALUES = [
    "many-1",
    "1b2-c",
    "17",
    "1e3",
    "true",
    "-",
    "a.b",
    "Ünïcode",
    'quo"ted',
    "",
    17,
    1000.0,
    True,
    None,
]


@pytest.fixture(scope="module")
def pods(schemas: Schemas) -> Kind:
    return next(kind for kind in builtin(schemas) if kind.resource == "pods")


def selection(kind: Kind, fields: str) -> Selection:
    return selecting.parse(Query(f"fieldSelector={fields}".encode()), kind)


def record(phase: JSON) -> Record:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": phase}}
    return Record(Key("pods", "default", "p"), 1, 1, encode(body), None, (), "u")


@given(
    asked=st.sampled_from([one for one in VALUES if isinstance(one, str)]) | st.text("ab1e.-+", max_size=6),
    phase=st.sampled_from(VALUES) | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    equal=st.booleans(),
)
def test_a_glance_at_the_bytes_changes_no_answer(pods: Kind, asked: str, phase: JSON, equal: bool) -> None:
    path = pods.field_labels["status.phase"]
    chosen = replace(selection(pods, ""), paths=((path, equal, asked),))
    hasty = replace(chosen, traces=selecting.traces(chosen.paths, pods))
    assert hasty.matches(record(phase)) == chosen.matches(record(phase))


def test_a_term_that_stands_in_the_bytes_as_it_is_rules_out_what_lacks_it(pods: Kind) -> None:
    chosen = selection(pods, "status.phase%3DRunning,spec.nodeName%3D9f3-a,status.phase!%3DFailed")
    assert chosen.traces == (b"Running", b"9f3-a")


def test_a_number_and_an_empty_value_rule_nothing_out(pods: Kind) -> None:
    assert selection(pods, "status.phase%3D1e3,spec.nodeName%3D").traces == ()
