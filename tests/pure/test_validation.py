"""What is wrong with a request is said in plain words."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from trainshed.backend import validation
from trainshed.backend.models.parts import Config
from trainshed.backend.models.requests import CreateRequest
from trainshed.backend.models.tenants import SignUpRequest
from trainshed.backend.problems import Problem
from trainshed.kube.objects import Object


def problem(body: Object) -> Problem:
    with pytest.raises(ValidationError) as wrong:
        CreateRequest.model_validate(body)
    return validation.problem([error for errors in told(wrong.value) for error in errors])


def told(wrong: ValidationError) -> list[list[Object]]:
    """Each mistake of a body, as the framework tells it."""
    return [[{**error, "loc": ("body", *error["loc"])}] for error in wrong.errors(include_url=False)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "user_id is needed"),
        ({"numNodes": 2}, 'there is no field "numNodes"; did you mean "num_nodes"? (and 1 more)'),
        (
            {"user_id": "a", "trainig_code": ""},
            'there is no field "trainig_code"; did you mean "training_code"?',
        ),
        ({"user_id": "a", "zzzz": 1}, 'there is no field "zzzz"'),
        ({"user_id": "a", "readOnly": 1}, 'there is no field "readOnly"; it belongs into volumes'),
        (
            {"user_id": "a", "config": {"numNodes": 1}},
            'there is no field "numNodes" in config; did you mean "num_nodes"?',
        ),
        ({"user_id": 1}, "user_id: a text is wanted"),
        ({"user_id": "a", "env_vars": {"A": "b"}}, 'env_vars: a list of {"name", "value"} is wanted'),
        ({"user_id": "a", "env_vars": ["A=b"]}, "env_vars[0]: an object is wanted"),
        ({"user_id": "a", "env_vars": [{"name": "A", "value": 1}]}, "env_vars[0].value: a text is wanted"),
        ({"user_id": "a", "volumes": [{"name": "v"}]}, "volumes[0].mountPath is needed"),
        ({"user_id": "a", "num_nodes": "2"}, "num_nodes: a whole number is wanted"),
        ({"user_id": "a", "num_nodes": 0}, "num_nodes: must be at least 1"),
        ({"user_id": "a", "num_nodes": 5000}, "num_nodes: must be at most 1000"),
        ({"user_id": "a", "suspend": "perhaps"}, "suspend: true or false is wanted"),
        ({"user_id": "a", "command": 5}, "command: a text or a list is wanted"),
        (
            {"user_id": "a", "config": {"cpu_per_node": []}},
            "config.cpu_per_node: a text or a whole number or a number is wanted",
        ),
        (
            {"user_id": "a", "processes_per_node": "x"},
            'processes_per_node: a whole number or "auto" is wanted',
        ),
        (
            {"user_id": "a", "framework": "pytroch"},
            "framework: must be one of pytorch, tensorflow, jax, xgboost, mpi, deepspeed, horovod, plain;"
            ' did you mean "pytorch"?',
        ),
        ({"user_id": "a", "str": 1}, 'there is no field "str"'),
        ({"user_id": "a", "list[int]": 1}, 'there is no field "list[int]"'),
        ({"user_id": "a", "": 1}, 'there is no field ""'),
        ({"user_id": "a", "config": {"int": 2}}, 'there is no field "int" in config'),
        ({"user_id": "a", "volumes": [{"bool": 2}]}, 'there is no field "bool" in volumes (and 2 more)'),
        ({"user_id": "a", "command": {"str": 1}}, "command: a text or a list is wanted"),
        ({"user_id": "a", "labels": {"str": 1}}, "labels.str: a text is wanted"),
        ({"user_id": "a", "files": {"a[0].py": 1}}, "files.a[0].py: a text is wanted"),
        ({"user_id": "a" * 20_000}, "user_id: must be no more than 16384 characters"),
    ],
)
def test_the_first_wrong_field_is_told_with_what_is_wanted(body: Object, message: str) -> None:
    assert problem(body).message == message


@given(st.one_of(st.sampled_from(["str", "int", "float", "bool", "[", "a[0]", "[key]", ""]), st.text()))
def test_an_unknown_name_is_told_whatever_it_is(name: str) -> None:
    assume(name not in {*CreateRequest.model_fields, *Config.model_fields})
    for body, field in (({name: 1}, name), ({"config": {name: 1}}, f"config.{name}")):
        found = problem({"user_id": "a", **body})
        assert found.message.startswith(f'there is no field "{name[:100]}"')
        assert found.field == (field[:200] or "body")
        assert found.hint is None


def test_a_name_of_the_callers_own_is_part_of_the_field_and_a_form_that_was_tried_is_not() -> None:
    with pytest.raises(ValidationError) as wrong:
        SignUpRequest.model_validate({"name": "a", "quota": {"other": {"int": [], "a[0]": "x"}}})
    fields = {validation.problem(one).field for one in told(wrong.value)}
    assert fields == {"quota.other.int", "quota.other.a[0]"}
