"""What the webhooks of training runtimes refuse and warn of."""

from __future__ import annotations

import pytest

from tests.pure.training_objects import a_replicated_job, a_runtime
from trainshed.kinds.trainer import runtime_checks, runtimes
from trainshed.kube.objects import Object

JOBS = "spec.template.spec.replicatedJobs"


def said(*jobs: Object) -> list[str]:
    return [str(error) for error in runtime_checks.errors(a_runtime(*jobs))]


@pytest.mark.parametrize("runtime", runtimes.manifests(), ids=lambda runtime: runtime["metadata"]["name"])
def test_the_shipped_runtimes_pass(runtime: Object) -> None:
    assert runtime_checks.errors(runtime) == []


@pytest.mark.parametrize(
    ("ancestor", "container"),
    [
        ("trainer", "node"),
        ("dataset-initializer", "dataset-initializer"),
        ("model-initializer", "model-initializer"),
    ],
)
def test_a_step_of_a_trainjob_needs_its_container(ancestor: str, container: str) -> None:
    assert said(a_replicated_job("x", [container], ancestor)) == []
    assert said(a_replicated_job("x", ["other"], ancestor)) == [
        f'{JOBS}[0].template.spec.template.spec.containers: Invalid value: [{{"name":"other"}}]: '
        f"must contain the required container for the ancestor: {ancestor}"
    ]


def test_a_step_of_a_trainjob_is_one_job() -> None:
    free = a_replicated_job("free", ["x"], replicas=3)
    assert said(free, a_replicated_job(ancestor="trainer", replicas=2)) == [
        f"{JOBS}[1].replicas: Invalid value: 2: always must be 1"
    ]


@pytest.mark.parametrize("ancestor", ["", "something-else"])
def test_jobs_that_stand_for_no_step_are_free(ancestor: str) -> None:
    assert said(a_replicated_job("x", ["x"], ancestor, replicas=2)) == []


def labelled(**labels: str) -> Object:
    runtime = a_runtime()
    runtime["metadata"]["labels"] = {f"trainer.kubeflow.org/{key}": value for key, value in labels.items()}
    return runtime


def test_deprecated_runtimes_are_known_by_a_label() -> None:
    assert runtime_checks.is_deprecated(labelled(support="deprecated"))
    assert not runtime_checks.is_deprecated(labelled(support="full"))
    assert not runtime_checks.is_deprecated(a_runtime())


def test_who_creates_and_who_uses_a_deprecated_runtime_is_warned() -> None:
    policy = "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"
    rest = f"in a future release of Kubeflow Trainer. See runtime deprecation policy: {policy}"
    created = f'ClusterTrainingRuntime "r" is deprecated and will be removed {rest}'
    assert runtime_checks.deprecation(a_runtime()) == created
    assert runtime_checks.deprecation(a_runtime(), referenced=True) == f"Referenced {created}"


def test_authors_may_ask_to_be_left_alone() -> None:
    runtime = a_runtime()
    runtime["metadata"]["labels"] = {"trainer.kubeflow.org/webhook-validation": "disabled"}
    assert runtime_checks.is_unchecked(runtime)
    assert not runtime_checks.is_unchecked(a_runtime())
