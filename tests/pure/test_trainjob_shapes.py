"""Manifests held against the server's schemas, without a server."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.pure.training_objects import a_trainjob, built_in
from trainshed.controllers.trainjob import shapes
from trainshed.kinds.kind import Kind
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import JSON, Object


@pytest.fixture(scope="session")
def known(schemas: Schemas) -> Mapping[str, Kind]:
    return shapes.kinds(schemas)


def a_job(**trainer: JSON) -> Object:
    job = a_trainjob("torch-distributed", trainer=trainer)
    return {**job, "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}


def said(document: Object, known: Mapping[str, Kind]) -> list[str]:
    return [f"{lint.path}: {lint.message}" for lint in shapes.checked(document, known)[1]]


def test_what_the_server_takes_has_no_flaw(known: Mapping[str, Kind]) -> None:
    assert said(a_job(numNodes=2, numProcPerNode="auto", command=["true"]), known) == []
    assert said(built_in("torch-distributed"), known) == []


def test_a_value_of_the_wrong_type_is_named_with_the_type_it_needs(known: Mapping[str, Kind]) -> None:
    assert said(a_job(numNodes="two"), known) == ['spec.trainer.numNodes: must be of type integer: "string"']


def test_a_command_as_one_text_is_told_how_lists_are_written(known: Mapping[str, Kind]) -> None:
    (found,) = said(a_job(command="python train.py"), known)
    assert found.startswith('spec.trainer.command: must be of type array: "string"; write it as a list')


@pytest.mark.parametrize("version", ["kubeflow.org/v1", "trainer.kubeflow.org/v1", ""])
def test_a_wrong_api_version_is_told_the_right_one(version: str, known: Mapping[str, Kind]) -> None:
    (found,) = said({**a_job(), "apiVersion": version}, known)
    assert found.startswith("apiVersion: ")
    assert found.endswith("it is in trainer.kubeflow.org/v1alpha1")


def test_an_unknown_field_is_named_with_its_nearest_neighbour(known: Mapping[str, Kind]) -> None:
    job, flaws = shapes.checked(a_job(numNode=2), known)
    assert [(lint.path, lint.message) for lint in flaws] == [
        ("spec.trainer.numNode", 'there is no such field; did you mean "numNodes"?')
    ]
    assert "numNode" not in job["spec"]["trainer"]
    assert shapes.is_mergeable(flaws)


def test_a_field_in_the_wrong_place_is_told_where_it_belongs(known: Mapping[str, Kind]) -> None:
    job = a_job()
    job["spec"]["numNodes"] = 2
    assert said(job, known) == [
        'spec.numNodes: there is no such field; did you mean "spec.trainer.numNodes"?'
    ]


def test_a_job_needs_a_name_or_the_beginning_of_one(known: Mapping[str, Kind]) -> None:
    job = a_job()
    job["metadata"] = {"generateName": "train-"}
    assert said(job, known) == []
    job["metadata"] = {}
    assert said(job, known) == ["metadata.name: Required value: name or generateName is required"]


def test_a_document_of_the_wrong_form_is_not_merged(known: Mapping[str, Kind]) -> None:
    job = {**a_job(), "spec": "torch-distributed"}
    _, flaws = shapes.checked(job, known)
    assert flaws
    assert not shapes.is_mergeable(flaws)
