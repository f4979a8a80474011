"""The merge of a runtime and a TrainJob into a JobSet, edge by edge, as Trainer v2.3 does it."""

from __future__ import annotations

import pytest

from tests.pure.merge_objects import (
    a_torch_runtime,
    beside,
    container,
    env,
    job,
    merged,
    pod,
    size,
    wanted,
)
from tests.pure.training_objects import (
    a_patch,
    a_replicated_job,
    a_runtime,
    a_trainjob,
    an_override,
    built_in,
)
from trainshed.controllers.trainjob import desired
from trainshed.kube.objects import JSON, Object, copied

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def test_the_worked_example_of_a_torch_job() -> None:
    trainer = {
        "image": "I",
        "command": ["C"],
        "env": [{"name": "A", "value": "1"}],
        "numNodes": 2,
        "resourcesPerNode": {"requests": {"cpu": "4"}},
    }
    jobset = merged(trainer=trainer)
    assert (jobset["metadata"]["name"], jobset["spec"]["suspend"]) == ("t", False)
    assert job(jobset)["replicas"] == 1
    assert size(jobset) == (2, 2)
    node = container(jobset)
    assert (node["image"], node["command"], node["ports"]) == ("I", ["C"], [{"containerPort": 29500}])
    assert node["resources"] == {"requests": {"cpu": "4"}}
    assert list(env(node).items()) == [
        ("A", "1"),
        ("PET_NNODES", "2"),
        ("PET_NPROC_PER_NODE", "4"),
        ("PET_NODE_RANK", INDEX),
        ("PET_MASTER_ADDR", "t-node-0-0.t"),
        ("PET_MASTER_PORT", "29500"),
    ]


def test_the_worked_example_of_an_mpi_job() -> None:
    made = wanted("deepspeed-distributed", trainer={"numNodes": 3, "numProcPerNode": 2})
    assert (size(made.jobset), size(made.jobset, "launcher")) == ((2, 2), (1, 1))
    assert beside(made, "ConfigMap")["data"]["hostfile"].splitlines() == [
        "t-node-0-0.t slots=2",
        "t-node-0-1.t slots=2",
        "t-launcher-0-0.t slots=2",
    ]


def test_all_that_is_made_belongs_to_the_trainjob() -> None:
    made = wanted("deepspeed-distributed", trainer={"numNodes": 2})
    for obj in (made.jobset, *made.objects):
        (owner,) = obj["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
            "TrainJob",
            "t",
            "1",
            True,
        )
        assert owner["blockOwnerDeletion"] is True


def test_neither_the_trainjob_nor_the_runtime_is_changed() -> None:
    runtime, given = built_in("tensorflow-runtime"), a_trainjob("tensorflow-runtime", trainer={"numNodes": 2})
    before = copied([runtime, given])
    desired.wanted(given, runtime)
    assert [runtime, given] == before


# --- labels -----------------------------------------------------------------------------------------------


def test_labels_of_the_jobset_are_the_templates_then_each_patchs_then_the_old_fields() -> None:
    runtime = a_torch_runtime()
    runtime["spec"]["template"]["metadata"] = {"labels": {"a": "runtime", "b": "runtime", "c": "runtime"}}
    patches = [a_patch(manager=f"example.com/{name}") for name in ("one", "two")]
    for patch, own in zip(patches, ({"b": "one", "c": "one"}, {"c": "two"}), strict=True):
        patch["trainingRuntimeSpec"]["template"]["metadata"] = {"labels": own, "annotations": own}
    jobset = merged(runtime, runtimePatches=patches, labels={"d": "job"}, annotations={"c": "job"})
    assert jobset["metadata"]["labels"] == {"a": "runtime", "b": "one", "c": "two", "d": "job"}
    assert jobset["metadata"]["annotations"] == {"b": "one", "c": "job"}


def test_labels_of_the_trainjob_itself_go_nowhere() -> None:
    given = a_trainjob()
    given["metadata"] |= {"labels": {"team": "a"}, "annotations": {"team": "a"}}
    jobset = desired.wanted(given, built_in("torch-distributed")).jobset
    assert "labels" not in jobset["metadata"]
    assert "annotations" not in jobset["metadata"]


def test_the_label_of_the_step_lands_on_the_job() -> None:
    labels = job(merged())["template"]["metadata"]["labels"]
    assert labels == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


# --- patches ----------------------------------------------------------------------------------------------

DIALECTS = [
    pytest.param(lambda **pod: {"runtimePatches": [a_patch(**pod)]}, id="runtimePatches"),
    pytest.param(lambda **pod: {"podTemplateOverrides": [an_override(**pod)]}, id="podTemplateOverrides"),
]


@pytest.mark.parametrize("change", DIALECTS)
def test_variables_of_a_patch_come_first_where_they_are_new(change: JSON) -> None:
    """Pinned upstream: [INIT_ENV, DATASET_PATH] and [INIT_ENV, NEW_VALUE]."""
    old = [{"name": "INIT_ENV", "value": "old"}, {"name": "DATASET_PATH", "value": "p"}]
    runtime = a_torch_runtime(initContainers=[{"name": "init", "image": "I", "env": old}])
    new = [{"name": "INIT_ENV", "value": "new"}, {"name": "NEW_VALUE", "value": "n"}]
    jobset = merged(runtime, **change(initContainers=[{"name": "init", "env": new}]))
    assert list(env(container(jobset, "init")).items()) == [
        ("INIT_ENV", "new"),
        ("NEW_VALUE", "n"),
        ("DATASET_PATH", "p"),
    ]


@pytest.mark.parametrize("change", DIALECTS)
def test_maps_merge_by_key_and_tolerations_are_replaced(change: JSON) -> None:
    runtime = a_torch_runtime(nodeSelector={"a": "1", "b": "1"}, tolerations=[{"key": "old"}])
    jobset = merged(runtime, **change(nodeSelector={"b": "2"}, tolerations=[{"key": "new"}]))
    assert pod(jobset)["nodeSelector"] == {"a": "1", "b": "2"}
    assert pod(jobset)["tolerations"] == [{"key": "new"}]


@pytest.mark.parametrize("change", DIALECTS)
def test_mounts_merge_by_path_and_volumes_by_name(change: JSON) -> None:
    had = {"volumeMounts": [{"name": "a", "mountPath": "/data"}, {"name": "b", "mountPath": "/b"}]}
    runtime = a_torch_runtime(had, volumes=[{"name": "a", "emptyDir": {}}])
    mine = [{"name": "node", "volumeMounts": [{"name": "mine", "mountPath": "/data"}]}]
    jobset = merged(runtime, **change(containers=mine, volumes=[{"name": "mine", "emptyDir": {}}]))
    mounts = {mount["mountPath"]: mount["name"] for mount in container(jobset)["volumeMounts"]}
    assert mounts == {"/data": "mine", "/b": "b"}
    assert sorted(volume["name"] for volume in pod(jobset)["volumes"]) == ["a", "mine"]


@pytest.mark.parametrize("change", DIALECTS)
def test_an_absent_affinity_leaves_the_runtimes_and_a_given_one_replaces_inner_lists(change: JSON) -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }
    runtime = a_torch_runtime(affinity=affinity)
    assert pod(merged(runtime, **change(affinity=None)))["affinity"] == affinity
    other = copied(affinity)
    other["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = []
    assert pod(merged(runtime, **change(affinity=other)))["affinity"] == other


@pytest.mark.parametrize("change", DIALECTS)
def test_a_volume_of_the_same_name_keeps_its_old_source_too(change: JSON) -> None:
    """As upstream: the pod is invalid then, which is why previews warn of it."""
    runtime = a_torch_runtime(volumes=[{"name": "data", "emptyDir": {}}])
    claim = {"persistentVolumeClaim": {"claimName": "c"}}
    jobset = merged(runtime, **change(volumes=[{"name": "data", **claim}]))
    assert pod(jobset)["volumes"] == [{"name": "data", "emptyDir": {}, **claim}]


def test_of_two_managers_the_later_one_wins_and_other_keys_stay() -> None:
    first = a_patch(manager="example.com/one", nodeSelector={"zone": "a", "only": "one"})
    second = a_patch(manager="example.com/two", nodeSelector={"zone": "b", "mine": "two"})
    selector = pod(merged(runtimePatches=[first, second]))["nodeSelector"]
    assert selector == {"zone": "b", "only": "one", "mine": "two"}


def test_jobs_keep_the_runtimes_order_whatever_is_patched() -> None:
    """A job may depend on those before it; a merge by itself would put patched ones in the patch's order."""
    patch = a_patch("node")
    jobs = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    jobs += [{"name": "dataset-initializer"}, {"name": "model-initializer"}]
    jobset = merged("torchtune-llama3.2-1b", runtimePatches=[patch])
    names = [found["name"] for found in jobset["spec"]["replicatedJobs"]]
    assert names == ["dataset-initializer", "model-initializer", "node"]


def test_an_override_of_several_jobs_changes_each_of_them_and_no_other() -> None:
    both = ({"name": "node"}, {"name": "launcher"})
    override = {
        "targetJobs": list(both),
        "metadata": {"labels": {"a": "1"}},
        "spec": {"nodeSelector": {"z": "1"}},
    }
    jobset = merged("deepspeed-distributed", podTemplateOverrides=[override])
    for name in ("node", "launcher"):
        assert pod(jobset, name)["nodeSelector"] == {"z": "1"}
        assert job(jobset, name)["template"]["spec"]["template"]["metadata"]["labels"] == {"a": "1"}
    one = merged("deepspeed-distributed", podTemplateOverrides=[{**override, "targetJobs": [both[0]]}])
    assert "nodeSelector" not in pod(one, "launcher")


def test_metadata_of_the_job_and_of_its_pods_can_be_patched() -> None:
    patch = a_patch()
    (target,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    target["template"]["metadata"] = {"labels": {"on": "job"}}
    target["template"]["spec"]["template"]["metadata"] = {"annotations": {"on": "pod"}}
    template = job(merged(runtimePatches=[patch]))["template"]
    assert template["metadata"]["labels"]["on"] == "job"
    assert template["spec"]["template"]["metadata"]["annotations"] == {"on": "pod"}


def test_directives_of_a_patch_are_not_obeyed() -> None:
    """They are no fields of the TrainJob: a server drops them before anyone can act on them."""
    runtime = a_torch_runtime(nodeSelector={"a": "1"})
    selector = pod(merged(runtime, runtimePatches=[a_patch(nodeSelector={"$patch": "delete"})]))[
        "nodeSelector"
    ]
    assert selector == {"a": "1"}


# --- counts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "trainer", "pods"),
    [
        ({"torch": {}}, {}, 1),
        ({"torch": {}, "numNodes": 3}, {}, 3),
        ({"torch": {}, "numNodes": 0}, {}, 1),
        ({"torch": {}, "numNodes": 3}, {"numNodes": 2}, 2),
        ({"torch": {}, "numNodes": 3}, {"numNodes": 0}, 0),
        ({"numNodes": 3}, {"numNodes": 5}, 5),
        ({"jax": {}}, {"numNodes": 4}, 4),
        ({"xgboost": {}}, {"numNodes": 4}, 4),
    ],
)
def test_the_trainjobs_number_of_nodes_beats_the_policys(policy: Object, trainer: Object, pods: int) -> None:
    assert size(merged(a_torch_runtime(policy=policy), trainer=trainer)) == (pods, pods)


def test_completions_of_the_template_are_overwritten() -> None:
    runtime = a_torch_runtime()
    spec = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    spec |= {"parallelism": 4, "completions": 9}
    assert size(merged(runtime)) == (1, 1)
    del runtime["spec"]["mlPolicy"]
    assert size(merged(runtime)) == (4, 4)


def test_jobs_without_a_step_keep_their_parallelism() -> None:
    extra = a_replicated_job("extra", ["c"])
    extra["template"]["spec"]["parallelism"] = 3
    jobset = merged(a_runtime(a_replicated_job(ancestor="trainer"), extra), trainer={"numNodes": 2})
    assert (size(jobset), size(jobset, "extra")) == ((2, 2), (3, 3))
    assert "replicas" not in job(jobset, "extra")


def test_replicas_of_jobs_with_a_step_are_one() -> None:
    runtime = a_runtime(a_replicated_job(ancestor="trainer", replicas=5))
    assert job(merged(runtime))["replicas"] == 1


# --- resources --------------------------------------------------------------------------------------------


def test_resources_are_merged_name_by_name() -> None:
    had = {"limits": {"memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    asked = {"limits": {"nvidia.com/gpu": "2"}, "requests": {"cpu": "4"}}
    jobset = merged(a_torch_runtime({"resources": had}), trainer={"resourcesPerNode": asked})
    assert container(jobset)["resources"] == {
        "limits": {"memory": "1Gi", "nvidia.com/gpu": "2"},
        "requests": {"cpu": "4", "memory": "1Gi"},
    }


def test_claims_are_kept() -> None:
    had = {"claims": [{"name": "a"}]}
    jobset = merged(
        a_torch_runtime({"resources": had}), trainer={"resourcesPerNode": {"claims": [{"name": "b"}]}}
    )
    assert container(jobset)["resources"] == {"claims": [{"name": "a"}, {"name": "b"}]}


def test_resources_reach_only_the_container_of_the_training() -> None:
    runtime = a_runtime(a_replicated_job(containers=["node", "sidecar"], ancestor="trainer"))
    jobset = merged(runtime, trainer={"resourcesPerNode": {"requests": {"cpu": "1"}}})
    assert "resources" not in container(jobset, "sidecar")


def test_resources_of_an_mpi_job_reach_launcher_and_nodes() -> None:
    asked = {"requests": {"cpu": "1"}}
    jobset = merged("deepspeed-distributed", trainer={"resourcesPerNode": asked})
    assert container(jobset)["resources"] == container(jobset, inside="launcher")["resources"] == asked


def test_resources_count_without_any_policy() -> None:
    runtime = a_torch_runtime()
    del runtime["spec"]["mlPolicy"]
    asked = {"requests": {"cpu": "1"}}
    assert container(merged(runtime, trainer={"resourcesPerNode": asked}))["resources"] == asked


# --- values -----------------------------------------------------------------------------------------------


def test_command_and_arguments_are_replaced_each_on_its_own() -> None:
    runtime = a_torch_runtime({"command": ["c"], "args": ["a"]})
    node = container(merged(runtime, trainer={"command": ["mine"]}))
    assert (node["command"], node["args"]) == (["mine"], ["a"])
    node = container(merged(runtime, trainer={"args": []}))
    assert (node["command"], node["args"]) == (["c"], [])


def test_variables_of_the_user_win_over_those_of_a_plugin_in_place() -> None:
    mine = [{"name": "JAX_PROCESS_ID", "value": "7"}, {"name": "B", "value": ""}]
    node = container(merged("jax-distributed", trainer={"env": mine}))
    assert list(env(node).items()) == [
        ("JAX_NUM_PROCESSES", "1"),
        ("JAX_PROCESS_ID", "7"),
        ("JAX_COORDINATOR_ADDRESS", "t-node-0-0.t:29500"),
        ("B", ""),
    ]


@pytest.mark.parametrize(
    ("policy", "first"),
    [
        ({"torch": {}}, "A"),
        ({}, "A"),
        ({"xgboost": {}}, "DMLC_TRACKER_URI"),
        ({"jax": {}}, "JAX_NUM_PROCESSES"),
    ],
)
def test_new_variables_stand_before_or_after_the_plugins(policy: Object, first: str) -> None:
    """XGBoost's order is random upstream; here its own come first, like JAX's."""
    node = container(merged(a_torch_runtime(policy=policy), trainer={"env": [{"name": "A", "value": "1"}]}))
    assert next(iter(env(node))) == first


def test_sources_of_variables_are_kept() -> None:
    source = {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}
    node = container(merged(trainer={"env": [{"name": "TOKEN", "valueFrom": source}]}))
    assert env(node)["TOKEN"] == source


def test_of_an_mpi_job_only_the_launcher_gets_image_and_command_but_all_get_variables() -> None:
    trainer = {"image": "mine", "command": ["mpirun"], "env": [{"name": "A", "value": "1"}]}
    jobset = merged("deepspeed-distributed", trainer=trainer)
    launcher, node = container(jobset, inside="launcher"), container(jobset)
    assert (launcher["image"], launcher["command"]) == ("mine", ["mpirun"])
    assert node["image"] == "ghcr.io/kubeflow/trainer/deepspeed-runtime"
    assert env(launcher)["A"] == env(node)["A"] == "1"


def test_initializers_get_uri_variables_and_secret() -> None:
    dataset = {
        "storageUri": "hf://mine",
        "env": [{"name": "IGNORE_PATTERNS", "value": "*.md"}],
        "secretRef": {"name": "token"},
    }
    jobset = merged("torchtune-llama3.2-1b", initializer={"dataset": dataset})
    found = container(jobset, "dataset-initializer", "dataset-initializer")
    assert env(found) == {"STORAGE_URI": "hf://mine", "IGNORE_PATTERNS": "*.md"}
    assert found["envFrom"] == [{"secretRef": {"name": "token"}}]
    other = container(jobset, "model-initializer", "model-initializer")
    assert env(other) == {"STORAGE_URI": "hf://meta-llama/Llama-3.2-1B-Instruct"}


def test_a_variable_named_storage_uri_beats_the_field() -> None:
    model = {"storageUri": "hf://field", "env": [{"name": "STORAGE_URI", "value": "hf://variable"}]}
    jobset = merged("torchtune-llama3.2-1b", initializer={"model": model})
    found = container(jobset, "model-initializer", "model-initializer")
    assert env(found) == {"STORAGE_URI": "hf://variable"}


@pytest.mark.parametrize("suspend", [True, False])
def test_suspension_is_the_trainjobs_whatever_the_template_says(suspend: bool) -> None:
    runtime = a_torch_runtime()
    runtime["spec"]["template"]["spec"]["suspend"] = not suspend
    assert merged(runtime, suspend=suspend)["spec"]["suspend"] is suspend


def test_the_rest_of_the_template_passes_through() -> None:
    rest = {
        "network": {"subdomain": "sub"},
        "successPolicy": {"operator": "Any"},
        "failurePolicy": {"maxRestarts": 10},
        "ttlSecondsAfterFinished": 5,
        "coordinator": {"replicatedJob": "node"},
    }
    runtime = a_torch_runtime()
    runtime["spec"]["template"]["spec"] |= rest
    spec = merged(runtime)["spec"]
    assert {key: spec[key] for key in rest} == rest
    assert "managedBy" not in merged(managedBy="trainer.kubeflow.org/trainjob-controller")["spec"]


def test_unnamed_ports_of_the_runtime_stay() -> None:
    runtime = a_torch_runtime({"ports": [{"containerPort": 8080}]})
    assert container(merged(runtime, trainer={}))["ports"] == [
        {"containerPort": 8080},
        {"containerPort": 29500},
    ]


# --- when -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job_suspended", "jobset", "due"),
    [
        (False, None, True),
        (False, {"spec": {}}, False),
        (False, {"spec": {"suspend": False}}, False),
        (False, {"spec": {"suspend": True}}, True),
        (True, {"spec": {"suspend": False}}, True),
    ],
)
def test_a_running_jobset_is_left_alone(job_suspended: bool, jobset: Object | None, due: bool) -> None:
    assert desired.is_due(a_trainjob(suspend=job_suspended), jobset) is due


def test_a_mount_without_a_volume_is_found_before_anything_is_made() -> None:
    mount = [{"name": "node", "volumeMounts": [{"name": "none", "mountPath": "/data"}]}]
    (flaw,) = desired.flaws(merged(runtimePatches=[a_patch(containers=mount)]))
    assert 'volumeMounts[0].name: container "node" mounts "none" at /data, but no volume is ' in flaw
    assert desired.flaws(merged("torchtune-llama3.2-1b", trainer={})) == []


@pytest.mark.parametrize(("length", "names"), [(48, None), (49, "pod"), (58, "job")])
def test_a_name_too_long_for_its_jobs_or_pods_is_found_without_a_webhook(
    length: int, names: str | None
) -> None:
    jobset = merged(trainer={})
    jobset["metadata"]["name"] = name = "x" * length
    why = f"JobSet name is too long, {names} names generated for this JobSet will exceed 63 characters"
    wanted = [f'spec.replicatedJobs[0].name: Invalid value: "{name}-node-0": {why}']
    assert desired.flaws(jobset) == (wanted if names else [])


@pytest.mark.parametrize(("requests", "limits"), [(4, 2), (4, "2"), ("4", 2), (2.5, 2)])
def test_amounts_that_are_written_as_numbers_are_held_against_each_other(
    requests: JSON, limits: JSON
) -> None:
    amounts = {"requests": {"cpu": requests}, "limits": {"cpu": limits}}
    (flaw,) = desired.flaws(merged(trainer={"resourcesPerNode": amounts}))
    assert flaw.endswith(f"must be less than or equal to cpu limit of {limits}")
    assert desired.flaws(merged(trainer={"resourcesPerNode": {**amounts, "limits": {"cpu": 5}}})) == []
