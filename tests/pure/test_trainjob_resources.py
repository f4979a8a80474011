"""The resources of TrainJobs in the form that clusters store and the SDK reads."""

from __future__ import annotations

import pytest

from tests.pure.training_objects import a_trainjob
from trainshed.kinds.trainer import trainjobs
from trainshed.kube.objects import JSON, Object, copied


def test_quantities_are_text_whatever_a_client_sent() -> None:
    job = a_trainjob()
    given: Object = {"cpu": 1.0, "memory": "1024Mi", "nvidia.com/gpu": 2, "bad": "many"}
    job["spec"]["trainer"] = {"resourcesPerNode": {"limits": given, "requests": {}, "claims": []}}
    trainjobs.tidy_resources(job)
    wanted = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2", "bad": "many"}
    assert job["spec"]["trainer"]["resourcesPerNode"] == {"limits": wanted, "requests": {}, "claims": []}


@pytest.mark.parametrize(
    "trainer", [None, 1, {}, {"resourcesPerNode": []}, {"resourcesPerNode": {"limits": 1}}]
)
def test_odd_resources_are_left_to_the_schema(trainer: JSON) -> None:
    job = a_trainjob()
    job["spec"]["trainer"] = copied(trainer)
    trainjobs.tidy_resources(job)
    assert job["spec"]["trainer"] == trainer
