"""The pods a Job makes."""

from __future__ import annotations

from tests.pure.job_objects import a_job, an_indexed_job
from trainshed.controllers.job import pod_template
from trainshed.controllers.job.specs import INDEX, TRACKING
from trainshed.kube.objects import copied


def test_a_plain_pod_has_the_template_an_owner_and_the_finalizer() -> None:
    job = a_job()
    pod = pod_template.new_pod(job)
    assert pod["spec"] == job["spec"]["template"]["spec"]
    meta = pod["metadata"]
    assert meta["generateName"] == "train-"
    assert meta["namespace"] == "team"
    assert meta["labels"] == job["spec"]["template"]["metadata"]["labels"]
    assert meta["finalizers"] == [TRACKING]
    owner = {
        "apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": job["metadata"]["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    assert meta["ownerReferences"] == [owner]


def test_an_indexed_pod_knows_its_index_by_name_label_annotation_and_environment() -> None:
    pod = pod_template.new_pod(an_indexed_job(), 1)
    assert pod["metadata"]["generateName"] == "train-1-"
    assert pod["metadata"]["labels"][INDEX] == pod["metadata"]["annotations"][INDEX] == "1"
    assert pod["spec"]["hostname"] == "train-1"
    path = f"metadata.labels['{INDEX}']"
    told = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    assert pod["spec"]["containers"][0]["env"] == [told]


def test_all_containers_are_told_the_index_unless_the_user_said_so_already() -> None:
    job = an_indexed_job()
    spec = job["spec"]["template"]["spec"]
    mine = {"name": "JOB_COMPLETION_INDEX", "value": "mine"}
    spec["initContainers"] = [{"name": "fetch", "env": [{"name": "A", "value": "1"}]}]
    spec["containers"] = [{"name": "main", "env": [mine]}, {"name": "side"}]
    made = pod_template.new_pod(job, 0)["spec"]
    assert [entry["name"] for entry in made["initContainers"][0]["env"]] == ["A", "JOB_COMPLETION_INDEX"]
    assert made["containers"][0]["env"] == [mine]
    assert made["containers"][1]["env"][0]["name"] == "JOB_COMPLETION_INDEX"


def test_the_job_itself_is_not_changed() -> None:
    job = an_indexed_job()
    before = copied(job)
    pod_template.new_pod(job, 3, {"a": "b"})
    assert job == before


def test_finalizers_and_annotations_of_the_template_are_kept() -> None:
    job = a_job()
    job["spec"]["template"]["metadata"] |= {"finalizers": ["a.b/c"], "annotations": {"x": "1"}}
    meta = pod_template.new_pod(job, None, {"y": "2"})["metadata"]
    assert meta["finalizers"] == ["a.b/c", TRACKING]
    assert meta["annotations"] == {"x": "1", "y": "2"}


def test_a_long_name_is_cut_so_that_the_index_survives() -> None:
    assert pod_template.indexed_prefix("n" * 70, 12) == "n" * 54 + "-12-"
    assert len(pod_template.indexed_prefix("n" * 70, 12)) == 58
    assert pod_template.indexed_prefix("short", 0) == "short-0-"


def test_the_longest_name_leaves_no_room_for_a_dash() -> None:
    assert pod_template.plain_prefix("n" * 253) == "n" * 253
    assert pod_template.plain_prefix("n" * 252) == "n" * 252 + "-"
