"""The Jobs a JobSet makes: names, marks, domain, volumes, placement."""

from __future__ import annotations

from tests.pure.jobset_world import World, a_rjob
from trainshed.kinds.jobset import labels
from trainshed.kube.objects import JSON, Object

PREFIX = "jobset.sigs.k8s.io/"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def made(*jobs: Object, name: str, annotations: dict[str, str] | None = None, **spec: JSON) -> Object:
    world = World(*jobs, **spec)
    world.jobset["metadata"]["annotations"] = annotations or {}
    return world.settle().jobs[name]


def test_marks_are_labels_and_annotations_of_the_job_and_its_pods() -> None:
    jobs = a_rjob("a", 2), a_rjob("b", 3, groupName="g"), a_rjob("c", 4, groupName="g")
    job = made(*jobs, name="js-c-1")
    expected = {
        "jobset-name": "js",
        "jobset-uid": "uid-js",
        "replicatedjob-name": "c",
        "replicatedjob-replicas": "4",
        "global-replicas": "9",
        "job-index": "1",
        "job-global-index": "6",
        "restart-attempt": "0",
        "group-name": "g",
        "group-replicas": "7",
        "job-group-index": "4",
    }
    for meta in (job["metadata"], job["spec"]["template"]["metadata"]):
        for marks in (meta["labels"], meta["annotations"]):
            found = {key.removeprefix(PREFIX): value for key, value in marks.items()}
            assert found == expected | {"job-key": found["job-key"]}


def test_the_job_key_is_a_digest_of_namespace_and_name() -> None:
    digest = "48f2819cdfd2c46a2f2aea5af4915251215e08e1"  # printf default/js-a-0 | sha1sum
    assert made(name="js-a-0")["metadata"]["labels"][labels.JOB_KEY] == digest


def test_labels_and_annotations_of_the_template_stay_and_those_of_the_jobset_stay_with_it() -> None:
    job = a_rjob()
    job["template"]["metadata"] = {"labels": {"mine": "1"}, "annotations": {"note": "2"}}
    job["template"]["spec"]["template"]["metadata"] = {"labels": {"pod": "3"}}
    found = made(job, name="js-a-0", annotations={"own": "4"})
    assert found["metadata"]["labels"]["mine"] == "1"
    assert found["metadata"]["annotations"]["note"] == "2"
    assert found["spec"]["template"]["metadata"]["labels"]["pod"] == "3"
    assert "mine" not in found["spec"]["template"]["metadata"]["labels"]
    assert "own" not in found["metadata"]["annotations"]


def test_what_the_webhook_of_jobsets_fills_in_is_there_without_it_too() -> None:
    """On a cluster that has the definitions alone, Jobs without a restart policy would be refused."""
    job = a_rjob()["template"]["spec"]
    assert "completionMode" not in job
    assert "restartPolicy" not in job["template"]["spec"]
    spec = made(a_rjob(), name="js-a-0")["spec"]
    assert (spec["completionMode"], spec["template"]["spec"]["restartPolicy"]) == ("Indexed", "OnFailure")


def test_the_coordinator_is_named_on_every_job() -> None:
    coordinator = {"replicatedJob": "a", "jobIndex": 1, "podIndex": 2}
    network = {"enableDNSHostnames": True, "subdomain": "meet"}
    job = made(a_rjob("a", 2), a_rjob("b"), name="js-b-0", coordinator=coordinator, network=network)
    assert job["metadata"]["labels"][labels.COORDINATOR] == "js-a-1-2.meet"
    assert job["spec"]["template"]["metadata"]["annotations"][labels.COORDINATOR] == "js-a-1-2.meet"


def test_the_service_is_headless_and_selects_the_pods_of_the_jobset() -> None:
    service = World(network={"enableDNSHostnames": True, "subdomain": "meet"}).settle().services["meet"]
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": {labels.JOBSET_NAME: "js"},
        "publishNotReadyAddresses": True,
    }
    assert service["metadata"]["ownerReferences"][0]["controller"] is True


def test_addresses_that_are_not_ready_can_be_left_out_of_the_service() -> None:
    network = {"enableDNSHostnames": True, "publishNotReadyAddresses": False}
    assert World(network=network).settle().services["js"]["spec"]["publishNotReadyAddresses"] is False


def test_claims_become_volumes_of_the_jobs_that_mount_them() -> None:
    mounting = a_rjob("a")
    pod = mounting["template"]["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "shm", "emptyDir": {}}]
    pod["initContainers"] = [{"name": "i", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]
    template = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}}
    policies = [{"templates": [template], "retentionPolicy": {"whenDeleted": "Delete"}}]
    world = World(mounting, a_rjob("b"), volumeClaimPolicies=policies).settle()
    assert world.jobs["js-a-0"]["spec"]["template"]["spec"]["volumes"] == [
        {"name": "shm", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-js"}},
    ]
    assert "volumes" not in world.jobs["js-b-0"]["spec"]["template"]["spec"]
    assert world.claims["data-js"]["metadata"]["labels"] == {labels.JOBSET_NAME: "js"}
    assert world.claims["data-js"]["spec"] == template["spec"]


def test_exclusive_placement_keeps_a_job_together_and_others_away() -> None:
    job = made(name="js-a-0", annotations={labels.EXCLUSIVE: "rack"})
    key = job["metadata"]["labels"][labels.JOB_KEY]
    affinity = job["spec"]["template"]["spec"]["affinity"]
    together, apart = affinity["podAffinity"][REQUIRED][0], affinity["podAntiAffinity"][REQUIRED][0]
    assert (together["topologyKey"], apart["topologyKey"]) == ("rack", "rack")
    assert together["labelSelector"]["matchExpressions"] == [
        {"key": labels.JOB_KEY, "operator": "In", "values": [key]}
    ]
    assert apart["labelSelector"]["matchExpressions"] == [
        {"key": labels.JOB_KEY, "operator": "Exists"},
        {"key": labels.JOB_KEY, "operator": "NotIn", "values": [key]},
    ]
    assert job["spec"]["template"]["metadata"]["annotations"][labels.EXCLUSIVE] == "rack"


def test_exclusive_placement_adds_to_the_affinities_of_the_template() -> None:
    job = a_rjob()
    node: Object = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    own = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}
    job["template"]["spec"]["template"]["spec"]["affinity"] = {**node, **own}
    found = made(job, name="js-a-0", annotations={labels.EXCLUSIVE: "rack"})
    affinity = found["spec"]["template"]["spec"]["affinity"]
    assert affinity["nodeAffinity"] == node["nodeAffinity"]
    assert [term["topologyKey"] for term in affinity["podAntiAffinity"][REQUIRED]] == ["zone", "rack"]


def test_the_word_of_a_replicated_job_about_its_placement_goes_over_the_jobsets() -> None:
    job = a_rjob()
    job["template"]["metadata"] = {"annotations": {labels.EXCLUSIVE: "zone"}}
    found = made(job, name="js-a-0", annotations={labels.EXCLUSIVE: "rack"})
    assert found["metadata"]["annotations"][labels.EXCLUSIVE] == "zone"


def test_nodes_labelled_by_hand_are_selected_and_their_taint_is_tolerated() -> None:
    given = {labels.EXCLUSIVE: "rack", labels.NODE_SELECTOR: "true"}
    pod = made(name="js-a-0", annotations=given)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {labels.NAMESPACED_JOB: "default_js-a-0"}
    assert pod["tolerations"] == [{"key": labels.NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}]
    assert "affinity" not in pod


def test_pods_with_a_priority_of_their_own_are_labelled_with_it() -> None:
    job = a_rjob()
    job["template"]["spec"]["template"]["spec"]["priority"] = 7
    found = made(job, name="js-a-0")
    assert found["spec"]["template"]["metadata"]["labels"][labels.PRIORITY] == "7"
    assert labels.PRIORITY not in found["metadata"]["labels"]
