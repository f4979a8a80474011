"""TrainJobs of v2.0 and v2.1 in the words of v2.2: the pods stay the same."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.converting.manifest_samples import Sampler
from tests.pure.converting.test_accounts import unaccounted
from tests.pure.merge_objects import a_torch_runtime
from trainshed.controllers.trainjob import desired
from trainshed.jobs.converting.converting import convert
from trainshed.kinds.kubeflow.families import PYTORCH
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import JSON, Object, copied, decode


def a_job(**spec: JSON) -> Object:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "t", "namespace": "default", "uid": "1"},
        "spec": {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": 2}, **spec},
    }


def an_override(*jobs: str, **pod: JSON) -> Object:
    return {"targetJobs": [{"name": job} for job in jobs], "spec": pod}


def jobset(job: Object) -> Object:
    runtime = a_torch_runtime({"volumeMounts": [{"name": "z", "mountPath": "/z"}]}, nodeSelector={"z": "0"})
    return desired.wanted(job, runtime).jobset


OVERRIDES = [
    an_override("node", nodeSelector={"a": "1"}, tolerations=[{"key": "a", "operator": "Exists"}]),
    {**an_override("node", nodeSelector={"a": "2", "b": "1"}), "metadata": {"labels": {"l": "1"}}},
    an_override("node", containers=[{"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]),
    an_override("node", serviceAccountName="me", volumes=[{"name": "v", "emptyDir": {}}]),
]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_jobset_is_the_same(count: int) -> None:
    old = a_job(podTemplateOverrides=OVERRIDES[:count], labels={"team": "a"}, annotations={"n": "1"})
    (new,) = convert([old]).documents
    assert {"podTemplateOverrides", "labels", "annotations"}.isdisjoint(new["spec"])
    assert jobset(new) == jobset(old)


def test_jobs_that_are_spoken_of_once_share_a_patch() -> None:
    old = a_job(
        podTemplateOverrides=[
            an_override("a", nodeSelector={"x": "1"}),
            an_override("b", nodeSelector={"y": "1"}),
        ]
    )
    (patch,) = convert([old]).documents[0]["spec"]["runtimePatches"]
    assert patch["manager"] == "trainshed.dev/convert"
    assert [job["name"] for job in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]] == [
        "a",
        "b",
    ]


def test_later_words_about_a_job_are_later_patches_beside_those_that_are_there() -> None:
    there = {"manager": "trainshed.dev/convert", "trainingRuntimeSpec": {}}
    old = a_job(podTemplateOverrides=OVERRIDES[:2], runtimePatches=[there])
    managers = [patch["manager"] for patch in convert([old]).documents[0]["spec"]["runtimePatches"]]
    assert managers == ["trainshed.dev/convert", "trainshed.dev/convert-2", "trainshed.dev/convert-3"]


def test_overrides_of_v2_0_are_pods_without_a_spec() -> None:
    old = a_job(
        podSpecOverrides=[{"targetJobs": [{"name": "node"}], "nodeSelector": {"a": "1"}, "odd": {"x": 1}}]
    )
    found = convert([old])
    (job,) = found.documents[0]["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"][
        "replicatedJobs"
    ]
    assert job["template"]["spec"]["template"] == {"spec": {"nodeSelector": {"a": "1"}}}
    assert [finding.field for finding in found.findings] == ["spec.podSpecOverrides[0].odd.x"]


@pytest.mark.parametrize(
    ("given", "expected", "verdicts"),
    [("4", 4, []), ("auto", None, ["not needed"]), ("gpu", None, ["not carried over"]), (3, 3, [])],
)
def test_words_for_processes_become_numbers_or_are_told_of(
    given: JSON, expected: JSON, verdicts: list[str]
) -> None:
    found = convert([a_job(trainer={"numProcPerNode": given}, labels={"a": "b"})])
    assert found.documents[0]["spec"].get("trainer", {}).get("numProcPerNode") == expected
    assert [finding.verdict for finding in found.findings] == verdicts


def test_todays_jobs_are_left_alone() -> None:
    job = a_job(runtimePatches=[{"manager": "a.b/c"}])
    found = convert([job])
    assert (found.documents, found.findings, found.converted) == ((job,), (), 0)


@pytest.fixture(scope="session")
def override_schema(schemas: Schemas) -> Sample:
    crd = next(crd for crd in schemas.crds() if crd.name == "trainjobs.trainer.kubeflow.org")
    root = decode(crd.raw)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return Sample(root["properties"]["spec"]["properties"]["podTemplateOverrides"])


class Sample(dict[str, JSON]):
    def __repr__(self) -> str:
        return "a schema"


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_every_field_is_carried_over_or_told_of(seed: int, override_schema: Sample) -> None:
    draw = Sampler(Random(seed), 0.2)
    old = a_job(podTemplateOverrides=draw.value(override_schema, "", 2))
    before = copied(old)
    found = convert([old])
    assert old == before
    gone = [line for line in unaccounted(old, found, PYTORCH) if "targetJobs" not in line]
    assert gone == []
    assert convert(found.documents).converted == 0
