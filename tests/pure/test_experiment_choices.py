"""Choices of parameters, as the Katib SDK sends them."""

from __future__ import annotations

import pytest

from trainshed.kinds.katib import defaults
from trainshed.kube.objects import JSON, Object


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"distribution": ["a", "b"]}, {"list": ["a", "b"], "distribution": "uniform"}),
        ({"distribution": ["a"], "list": ["b"]}, {"list": ["b"], "distribution": "uniform"}),
        ({"list": ["a"], "distribution": "normal"}, {"list": ["a"], "distribution": "normal"}),
    ],
)
def test_choices_in_the_wrong_place_are_found(given: JSON, stored: JSON) -> None:
    parameter = {"name": "p", "parameterType": "categorical", "feasibleSpace": given}
    experiment: Object = {"spec": {"parameters": [parameter]}}
    defaults.apply(experiment)
    assert experiment["spec"]["parameters"][0]["feasibleSpace"] == stored
