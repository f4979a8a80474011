"""What is not of the type it must be is refused with its field, and nothing vanishes from lists."""

from __future__ import annotations

import pytest

from trainshed.jobs.converting import converting, overrides
from trainshed.jobs.converting.converting import Conversion, convert
from trainshed.jobs.converting.findings import Findings
from trainshed.kube.objects import JSON, Object, copied

_MAIN = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "MPIJob": "mpi"}


def a_job(kind: str = "PyTorchJob", replicas: str = "pytorchReplicaSpecs", name: str = "j") -> Object:
    container = {"name": _MAIN[kind], "image": "i", "command": ["train"]}
    worker = {"replicas": 2, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    spec = {replicas: {"Worker": worker}}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def set_at(value: JSON, path: list[str | int], new: JSON) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


def fields(found: Conversion, verdict: str = "not converted") -> list[str]:
    return [finding.field for finding in found.findings if finding.verdict == verdict]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["replicas"], "4"),
        (["restartPolicy"], 3),
        (["template", "metadata"], "x"),
        (["template", "metadata"], {"annotations": ["x"]}),
        (["template", "spec", "containers", 0, "env"], ["A=1"]),
        (["template", "spec", "containers", 0, "args"], "train"),
    ],
)
def test_a_wrong_type_is_refused_by_its_field(path: list[str | int], value: JSON) -> None:
    job = a_job()
    set_at(job["spec"]["pytorchReplicaSpecs"]["Worker"], path, value)
    found = convert([job])
    assert (found.converted, found.documents) == (0, (job,))
    assert fields(found)[0].startswith("spec.pytorchReplicaSpecs.Worker." + str(path[0]))
    assert "must be of type" in found.findings[0].why


def test_slots_that_are_a_text_are_refused() -> None:
    job = a_job("MPIJob", "mpiReplicaSpecs")
    job["spec"]["mpiReplicaSpecs"]["Launcher"] = {
        **copied(job["spec"]["mpiReplicaSpecs"]["Worker"]),
        "replicas": 1,
    }
    assert convert([copied(job)]).converted == 1
    job["spec"]["slotsPerWorker"] = "8"
    assert fields(convert([job])) == ["spec.slotsPerWorker"]


def test_nulls_are_as_good_as_absent() -> None:
    job = a_job()
    job["metadata"]["creationTimestamp"] = None
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = {"creationTimestamp": None}
    assert convert([job]).converted == 1


def test_replicas_spelt_twice_are_told_of() -> None:
    job = a_job("TFJob", "tfReplicaSpecs")
    job["spec"]["tfReplicaSpecs"]["worker"] = copied(job["spec"]["tfReplicaSpecs"]["Worker"])
    job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 0
    found = convert([job])
    assert (found.converted, found.documents) == (0, (job,))
    assert "no pods" in found.findings[0].why


def test_a_fault_of_ours_leaves_the_document_and_converts_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(job: Object, findings: Findings) -> Object:
        raise IndexError("list index out of range")

    monkeypatch.setattr(overrides, "converted", fails)
    found = convert([an_old_trainjob([]), a_job()])
    assert (found.converted, found.documents[0]) == (1, an_old_trainjob([]))
    assert "IndexError" in found.findings[0].why
    assert found.findings[0].verdict == "not converted"


def test_a_name_too_long_for_pods_is_refused() -> None:
    found = convert([a_job(name="a" * 58)])
    assert found.converted == 0
    assert "too long" in found.findings[0].why
    assert convert([a_job(name="a" * 40)]).converted == 1


def test_a_negative_limit_is_not_copied() -> None:
    job = a_job()
    job["spec"]["runPolicy"] = {"backoffLimit": -7}
    found = convert([job])
    assert "-7" not in str(found.documents)
    assert fields(found, "not carried over") == ["spec.runPolicy.backoffLimit"]


# --- lists --------------------------------------------------------------------------------------------------


def test_lists_of_one_kind_become_lists_of_all() -> None:
    job = a_job()
    del job["kind"], job["apiVersion"]
    listed = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJobList", "items": [job]}
    found = convert([listed])
    assert found.converted == 1
    assert [item["kind"] for item in found.documents[0]["items"]] == ["TrainJob"]
    assert (found.documents[0]["apiVersion"], found.documents[0]["kind"]) == ("v1", "List")
    assert [item["kind"] for item in converting.items(listed)] == ["PyTorchJob"]


def test_lists_of_trainjobs_stay_such() -> None:
    listed = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJobList",
        "items": [an_old_trainjob([{"targetJobs": [{"name": "node"}]}])],
    }
    found = convert([listed])
    assert (found.converted, found.documents[0]["kind"]) == (1, "TrainJobList")


@pytest.mark.parametrize("items", ["x", {"a": 1}, ["x"], [None]])
def test_lists_of_anything_else_are_left_and_told_of(items: JSON) -> None:
    listed: Object = {"apiVersion": "v1", "kind": "List", "items": items}
    found = convert([listed])
    assert found.documents == (listed,)
    assert fields(found)[0].startswith("items")


# --- TrainJobs of old ---------------------------------------------------------------------------------------


def an_old_trainjob(found: JSON, field: str = "podTemplateOverrides") -> Object:
    spec = {"runtimeRef": {"name": "torch-distributed"}, field: found}
    version = "trainer.kubeflow.org/v1alpha1"
    return {"apiVersion": version, "kind": "TrainJob", "metadata": {"name": "t"}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"targetJobs": []}, "spec.podTemplateOverrides"),
        (["x"], "spec.podTemplateOverrides[0]"),
        ([{"targetJobs": ["node"]}], "spec.podTemplateOverrides[0].targetJobs[0]"),
        ([{"spec": {"nodeSelector": {"a": "b"}}}], "spec.podTemplateOverrides[0].targetJobs"),
        ([{"targetJobs": [{"name": "node"}], "spec": "x"}], "spec.podTemplateOverrides[0].spec"),
        (
            [{"targetJobs": [{"name": "node"}], "spec": {"containers": [1]}}],
            "spec.podTemplateOverrides[0].spec.containers[0]",
        ),
    ],
)
def test_overrides_of_the_wrong_type_are_refused(given: JSON, field: str) -> None:
    job = an_old_trainjob(given)
    found = convert([job])
    assert (found.converted, found.documents) == (0, (job,))
    assert fields(found)[0] == field


def test_what_targets_say_beside_a_name_is_told() -> None:
    found = convert([an_old_trainjob([{"targetJobs": [{"name": "node", "odd": 1}]}])])
    assert fields(found, "not carried over") == ["spec.podTemplateOverrides[0].targetJobs[0].odd"]
