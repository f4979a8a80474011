"""What is wrong with a request is said in plain words."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from trainshed.backend import validation
from trainshed.backend.models.requests import CreateRequest
from trainshed.backend.problems import Problem
from trainshed.kube.objects import Object


def problem(body: Object) -> Problem:
    with pytest.raises(ValidationError) as wrong:
        CreateRequest.model_validate(body)
    errors = wrong.value.errors(include_url=False)
    return validation.problem([{**error, "loc": ("body", *error["loc"])} for error in errors])


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
        ({"user_id": "a" * 20_000}, "user_id: must be no more than 16384 characters"),
    ],
)
def test_the_first_wrong_field_is_told_with_what_is_wanted(body: Object, message: str) -> None:
    assert problem(body).message == message
