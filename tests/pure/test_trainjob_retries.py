"""How often a job begins anew, where its TrainJob says so."""

from __future__ import annotations

import pytest

from tests.pure.merge_objects import a_torch_runtime
from tests.pure.training_objects import a_trainjob, built_in
from trainshed.controllers.trainjob import retries, stages
from trainshed.kube.objects import Object


def a_job(runtime: str, said: str | None) -> Object:
    job = a_trainjob(runtime, trainer={"numNodes": 2})
    if said is not None:
        job["metadata"]["annotations"] = {retries.ANNOTATION: said}
    return job


def merged(said: str | None, runtime: str = "torch-distributed") -> Object:
    return stages.merged(a_job(runtime, said), built_in(runtime)).spec


def test_without_a_word_the_runtime_decides() -> None:
    spec = merged(None)
    assert "failurePolicy" not in spec
    assert "backoffLimit" not in spec["replicatedJobs"][0]["template"]["spec"]


@pytest.mark.parametrize(("said", "policy"), [("0", {}), ("3", {"failurePolicy": {"maxRestarts": 3}})])
def test_any_failure_ends_the_attempt_and_the_jobset_begins_others(said: str, policy: Object) -> None:
    spec = merged(said)
    job = spec["replicatedJobs"][0]["template"]["spec"]
    assert (job["backoffLimit"], job["template"]["spec"]["restartPolicy"]) == (0, "Never")
    assert {key: value for key, value in spec.items() if key == "failurePolicy"} == policy


def test_every_job_of_a_launcher_and_its_nodes_is_limited() -> None:
    jobs = merged("0", "deepspeed-distributed")["replicatedJobs"]
    assert [job["template"]["spec"]["backoffLimit"] for job in jobs] == [0, 0]


def test_a_word_of_the_job_counts_more_than_the_runtimes_policy() -> None:
    runtime = a_torch_runtime()
    runtime["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 10, "rules": []}
    found = stages.merged(a_job("r", "1"), runtime).spec
    assert found["failurePolicy"] == {"maxRestarts": 1, "rules": []}


@pytest.mark.parametrize("said", ["", "-1", "many", "1.5", "٣"])
def test_what_is_no_number_says_nothing(said: str) -> None:
    assert retries.asked(a_job("r", said)) is None
