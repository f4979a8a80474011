"""In which order manifests go, and what is said of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.client.requests import Resource
from trainshed.jobs import applying
from trainshed.jobs.applying import How
from trainshed.jobs.manifests import Document
from trainshed.kube.objects import Object


def an_object(kind: str, name: str = "x", api: str = "v1", **more: object) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}


KINDS = (
    "PyTorchJob",
    "ConfigMap",
    "Namespace",
    "TrainJob",
    "CustomResourceDefinition",
    "TrainingRuntime",
    "Widget",
)


@given(st.lists(st.sampled_from(KINDS), max_size=12))
def test_what_others_need_goes_first_and_the_rest_in_the_order_given(kinds: list[str]) -> None:
    given_ = [Document(an_object(kind, str(at)), "x") for at, kind in enumerate(kinds)]
    ordered = applying.ordered(given_)
    assert sorted(map(repr, ordered)) == sorted(map(repr, given_))
    names = [document.object["kind"] for document in ordered]
    for earlier, later in (
        ("Namespace", "ConfigMap"),
        ("CustomResourceDefinition", "Widget"),
        ("ConfigMap", "PyTorchJob"),
        ("TrainingRuntime", "TrainJob"),
    ):
        if earlier in names and later in names:
            assert len(names) - 1 - names[::-1].index(earlier) < names.index(later)
    for kind in KINDS:
        same = [int(one.object["metadata"]["name"]) for one in ordered if one.object["kind"] == kind]
        assert same == sorted(same)


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (an_object("ConfigMap"), "configmap/x"),
        (an_object("PyTorchJob", api="kubeflow.org/v1"), "pytorchjob.kubeflow.org/x"),
    ],
)
def test_an_object_is_called_as_kubectl_does(obj: Object, name: str) -> None:
    assert applying.called(obj) == name


def test_only_what_its_user_may_write_makes_a_change() -> None:
    before = an_object("TrainJob", spec={"a": 1}, status={"x": 1})
    after = an_object("TrainJob", spec={"a": 1}, status={"x": 2})
    after["metadata"] |= {"managedFields": [], "resourceVersion": "7", "generation": 3}
    assert applying.verb(None, after) == "created"
    assert applying.verb(before, after) == "unchanged"
    assert applying.verb(before, {**after, "spec": {"a": 2}}) == "configured"


@pytest.mark.parametrize(
    ("obj", "repeated", "words"),
    [
        ({"kind": "ConfigMap", "metadata": {"name": "x"}}, (), "this ConfigMap has no apiVersion"),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}},
            (),
            "this Pod has no metadata.name",
        ),
        (an_object("ConfigMap"), ("line 3: key",), "line 3: key"),
        (an_object("ConfigMap"), (), ""),
    ],
)
def test_a_document_that_cannot_be_sent_says_why(obj: Object, repeated: tuple[str, ...], words: str) -> None:
    assert applying.flaw(Document(obj, "x", repeated), How()).startswith(words)
    if repeated:
        assert applying.flaw(Document(obj, "x", repeated), How(validation="Warn")) == ""


TRAINER = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", namespaced=True)
EVENTS = (
    Resource("", "v1", "events", "Event", namespaced=True),
    Resource("events.k8s.io", "v1", "events", "Event", namespaced=True),
    Resource("events.k8s.io", "v1beta1", "events", "Event", namespaced=True),
)


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("TrainJob", "write apiVersion: trainer.kubeflow.org/v1alpha1"),
        ("Event", "write apiVersion: v1 or events.k8s.io/v1"),
        ("Widget", ""),
    ],
)
def test_a_document_without_an_api_version_is_told_which_to_write(kind: str, hint: str) -> None:
    assert applying.versions_of(kind, (*EVENTS, TRAINER)) == hint


def test_an_object_without_a_name_is_called_by_its_kind() -> None:
    assert applying.called({"kind": "Foo"}) == "foo"
    assert applying.called({"kind": "Foo", "apiVersion": "a.org/v1", "metadata": {}}) == "foo.a.org"


@pytest.mark.parametrize("field", ["name", "namespace"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "must be text, not 5"),
        (True, "must be text, not true"),
        ([], "must be text, not []"),
        ({}, "must be text, not {}"),
        (["x" * 999], f'must be text, not ["{"x" * 37}…'),
        ("a/b", "cannot be 'a/b'"),
        ("..", "cannot be '..'"),
    ],
)
def test_a_name_or_namespace_that_is_none_says_so(field: str, value: object, words: str) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", field: value}}
    assert applying.flaw(Document(obj, "x"), How()) == f"metadata.{field} {words}"


@pytest.mark.parametrize("namespace", [None, ""])
def test_a_namespace_may_be_left_open(namespace: str | None) -> None:
    obj = an_object("ConfigMap")
    obj["metadata"]["namespace"] = namespace
    assert applying.flaw(Document(obj, "x"), How()) == ""
