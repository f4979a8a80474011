"""TrainJobs against their runtimes, and the times of their patches: every rule, in both dialects."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.training_objects import (
    MANAGER,
    a_patch,
    a_replicated_job,
    a_runtime,
    a_trainjob,
    an_override,
    built_in,
)
from trainshed.kinds.trainer import dialects, trainjobs
from trainshed.kinds.trainer.trainjobs import Surroundings
from trainshed.kube.objects import JSON, Object, copied

TORCH = "torch-distributed"
TUNE = "torchtune-llama3.2-1b"
QLORA = "model.quantize_base=True"
NOW = "2026-01-02T03:04:05Z"
EARLIER = "2026-01-01T00:00:00Z"


def said(job: Object, runtime: Object | None = None, old: Object | None = None, **around: JSON) -> list[str]:
    found = runtime or built_in(job["spec"]["runtimeRef"]["name"])
    return [str(error) for error in trainjobs.errors(job, old, Surroundings(found, **around))]


def ending(job: Object, runtime: Object | None = None, **more: JSON) -> list[str]:
    """What is said after the value, which may be long."""
    return [error.rpartition("]: ")[2] for error in said(job, runtime, **more)]


def env(*names: str) -> list[Object]:
    return [{"name": name, "value": "1"} for name in names]


# --- the runtime ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "group", "supported"),
    [
        ("ClusterTrainingRuntime", "trainer.kubeflow.org", True),
        ("TrainingRuntime", "trainer.kubeflow.org", True),
        ("Runtime", "trainer.kubeflow.org", False),
        ("ClusterTrainingRuntime", "example.com", False),
        ("ClusterTrainingRuntime", "", False),
    ],
)
def test_only_the_two_kinds_of_runtimes_are_supported(kind: str, group: str, supported: bool) -> None:
    job = a_trainjob()
    job["spec"]["runtimeRef"] |= {"kind": kind, "apiGroup": group}
    assert trainjobs.is_supported(trainjobs.runtime_key(job)) is supported


def test_the_key_of_a_runtime_without_group_is_its_kind() -> None:
    assert trainjobs.runtime_key({"spec": {"runtimeRef": {"kind": "Thing"}}}) == "Thing"


def test_a_missing_cluster_runtime_is_named_as_upstream_does() -> None:
    reference = '{"name":"none","apiGroup":"trainer.kubeflow.org","kind":"ClusterTrainingRuntime"}'
    missing = 'ClusterTrainingRuntime.trainer.kubeflow.org "none" not found'
    assert str(trainjobs.missing_runtime(a_trainjob("none"))) == (
        f"spec.RuntimeRef: Invalid value: {reference}: {missing}: "
        "specified clusterTrainingRuntime must be created before the TrainJob is created"
    )


def test_a_missing_namespaced_runtime_is_named_as_upstream_does() -> None:
    job = a_trainjob("none")
    job["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
    text = str(trainjobs.missing_runtime(job))
    assert text.startswith("spec.runtimeRef: Invalid value: {")
    assert text.endswith(
        'TrainingRuntime.trainer.kubeflow.org "none" not found: '
        "specified trainingRuntime must be created before the TrainJob is created"
    )


@pytest.mark.parametrize(
    "name", [TORCH, "jax-distributed", "deepspeed-distributed", "xgboost-distributed", TUNE]
)
def test_a_plain_job_fits_every_shipped_runtime(name: str) -> None:
    assert said(a_trainjob(name, trainer={"numNodes": 2, "env": env("A")})) == []


# --- initializers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["dataset", "model"])
def test_initializers_fit_the_runtimes_made_for_them(what: str) -> None:
    assert said(a_trainjob(TUNE, initializer={what: {"storageUri": "hf://a/b"}})) == []


MOUNTED = {
    "name": "dataset-initializer",
    "volumeMounts": [{"name": "initializer", "mountPath": "/workspace"}],
}


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        ([], "must have dataset-initializer job when trainJob is configured with input datasetConfig"),
        (
            [a_replicated_job("dataset-initializer", ["other"])],
            "must have container with name - dataset-initializer in the dataset-initializer job",
        ),
        (
            [a_replicated_job("dataset-initializer", ["dataset-initializer"])],
            "must have volumeMount with name - initializer in container dataset-initializer "
            "of the dataset-initializer job",
        ),
    ],
)
def test_an_initializer_needs_a_job_a_container_and_a_volume(jobs: list[Object], why: str) -> None:
    job = a_trainjob(initializer={"dataset": {}})
    [text] = said(job, a_runtime(a_replicated_job(), *jobs))
    assert text.startswith('spec.runtimeRef: Invalid value: {"name":"torch-distributed",')
    assert text.endswith(why)


def test_the_model_initializer_is_asked_for_by_its_own_name() -> None:
    [text] = said(a_trainjob(initializer={"model": {}}))
    assert text.endswith("must have model-initializer job when trainJob is configured with input modelConfig")


def test_an_empty_initializer_asks_for_nothing() -> None:
    assert said(a_trainjob(initializer={})) == []


@pytest.mark.parametrize(
    ("field", "change"), [("runtimePatches", a_patch), ("podTemplateOverrides", an_override)]
)
def test_a_change_may_bring_the_mount_an_initializer_needs(field: str, change: JSON) -> None:
    runtime = a_runtime(a_replicated_job("dataset-initializer", ["dataset-initializer"]))
    job = a_trainjob(initializer={"dataset": {}})
    job["spec"][field] = [change("dataset-initializer", containers=[MOUNTED])]
    assert said(job, runtime) == []


# --- changes of pods --------------------------------------------------------------------------------------

CHANGES = [
    pytest.param("runtimePatches", a_patch, "replicated job", id="patches"),
    pytest.param("podTemplateOverrides", an_override, "targetJob", id="overrides"),
]


@pytest.mark.parametrize(("field", "change", "word"), CHANGES)
def test_changes_of_what_exists_are_accepted(field: str, change: JSON, word: str) -> None:
    mount = {"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    assert said(a_trainjob(**{field: [change(containers=[mount], nodeSelector={"a": "b"})]})) == []


@pytest.mark.parametrize(("field", "change", "word"), CHANGES)
def test_a_change_of_an_unknown_job_is_refused_with_the_jobs_there_are(
    field: str, change: JSON, word: str
) -> None:
    [text] = said(a_trainjob(**{field: [change("worker")]}))
    assert text.startswith(f"spec.{field}: Invalid value: [")
    assert text.endswith(
        f"must not have {word} that doesn't exist in the runtime job template: "
        f'job "worker" in {field} does not exist in the runtime; it has "node"'
    )


@pytest.mark.parametrize(("field", "change", "word"), CHANGES)
def test_a_change_of_an_unknown_container_is_refused_with_the_containers_there_are(
    field: str, change: JSON, word: str
) -> None:
    job = a_trainjob(**{field: [change(containers=[{"name": "trainer"}])]})
    assert said(job)[0].endswith(
        "must not have container that doesn't exist in the runtime job node: "
        f'container "trainer" in {field} does not exist in the runtime; it has "node"'
    )


@pytest.mark.parametrize(("field", "change", "word"), CHANGES)
def test_a_change_of_an_unknown_init_container_is_refused(field: str, change: JSON, word: str) -> None:
    [text] = ending(a_trainjob(**{field: [change(initContainers=[{"name": "setup"}])]}))
    assert text.startswith("must not have initContainer that doesn't exist in the runtime job node")


@pytest.mark.parametrize(("field", "change", "word"), CHANGES)
def test_the_environment_of_a_training_container_is_set_elsewhere(
    field: str, change: JSON, word: str
) -> None:
    job = a_trainjob(**{field: [change(containers=[{"name": "node", "env": env("A")}])]})
    assert ending(job) == [
        "must not have envs for the dataset-initializer, model-initializer, node containers"
    ]


def test_the_environment_of_a_sidecar_and_of_init_containers_may_be_patched() -> None:
    pod_job = a_replicated_job("node", ["node", "sidecar"])
    pod_job["template"]["spec"]["template"]["spec"]["initContainers"] = [{"name": "setup"}]
    patch = a_patch(
        containers=[{"name": "sidecar", "env": env("A")}], initContainers=[{"name": "setup", "env": env("A")}]
    )
    assert said(a_trainjob(runtimePatches=[patch]), a_runtime(pod_job)) == []


def test_a_patch_without_any_job_is_accepted() -> None:
    assert said(a_trainjob(runtimePatches=[{"manager": MANAGER}])) == []


@pytest.mark.parametrize(
    ("manager", "why"),
    [
        ("nobody", 'must be a domain-prefixed path (such as "acme.io/foo")'),
        ("acme.io/", 'must be a domain-prefixed path (such as "acme.io/foo")'),
        ("/foo", 'must be a domain-prefixed path (such as "acme.io/foo")'),
        (
            "acme.io/a b",
            r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')",
        ),
    ],
)
def test_a_manager_is_a_path_below_a_domain(manager: str, why: str) -> None:
    [text] = said(a_trainjob(runtimePatches=[{"manager": manager}]))
    assert text.startswith('spec.runtimePatches.manager: Invalid value: "')
    assert text.endswith(f": {why}")


def test_a_manager_below_something_that_is_no_domain_is_refused() -> None:
    [text] = said(a_trainjob(runtimePatches=[{"manager": "Acme/foo"}]))
    assert text.startswith(
        'spec.runtimePatches.manager: Invalid value: "Acme": a lowercase RFC 1123 subdomain'
    )


# --- changes over time ------------------------------------------------------------------------------------


def changed(field: str, change: JSON, *, before: bool, after: bool, **around: JSON) -> list[str]:
    old = a_trainjob(suspend=before, **{field: [change(nodeSelector={"a": "1"})]})
    new = a_trainjob(suspend=after, **{field: [change(nodeSelector={"a": "2"})]})
    return said(new, old=old, **around)


def test_patches_of_a_running_job_stay_as_they_are() -> None:
    assert changed("runtimePatches", a_patch, before=False, after=False) == [
        "spec.runtimePatches: Forbidden: RuntimePatches can only be modified when the TrainJob is suspended "
        "before or after the update"
    ]


def test_overrides_of_a_running_job_stay_as_they_are() -> None:
    assert changed("podTemplateOverrides", an_override, before=False, after=False) == [
        "spec.podTemplateOverrides: Forbidden: PodTemplateOverrides can only be modified "
        "when the TrainJob is suspended"
    ]


@pytest.mark.parametrize(("before", "after"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("field", "change", "word"), CHANGES)
def test_changes_are_free_while_a_job_is_suspended_before_or_after(
    field: str, change: JSON, word: str, before: bool, after: bool
) -> None:
    assert changed(field, change, before=before, after=after) == []


def test_changes_wait_until_the_pods_of_a_suspended_job_are_gone() -> None:
    jobset = {"status": {"replicatedJobsStatus": [{"name": "node", "active": 1}, {"name": "x", "active": 0}]}}
    assert changed("runtimePatches", a_patch, before=False, after=True, jobset=jobset) == [
        "spec.runtimePatches: Forbidden: RuntimePatches cannot be modified when the "
        "JobSet's ReplicatedJob node "
        "is still active"
    ]


def test_an_update_that_leaves_the_patches_alone_is_free() -> None:
    old = a_trainjob(runtimePatches=[a_patch(nodeSelector={})])
    assert said(a_trainjob(runtimePatches=[a_patch()], suspend=True), old=old) == []


# --- policies ---------------------------------------------------------------------------------------------


def test_reserved_environment_of_torch_is_refused_with_the_names_sorted() -> None:
    job = a_trainjob(trainer={"env": env("PET_NNODES", "A", "PET_MASTER_ADDR")})
    [text] = said(job)
    assert text.startswith('spec.trainer.env: Invalid value: [{"name":"PET_NNODES","value":"1"}')
    assert text.endswith("must not have reserved envs, invalid envs configured: [PET_MASTER_ADDR PET_NNODES]")


@pytest.mark.parametrize(
    "name", ["PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"]
)
def test_every_variable_of_torchrun_is_reserved(name: str) -> None:
    assert len(said(a_trainjob(trainer={"env": env(name)}))) == 1


def test_other_runtimes_do_not_know_the_variables_of_torchrun() -> None:
    assert said(a_trainjob("jax-distributed", trainer={"env": env("PET_NNODES", "JAX_NUM_PROCESSES")})) == []


def test_reserved_environment_of_mpi_is_refused() -> None:
    job = a_trainjob("deepspeed-distributed", trainer={"env": env("OMPI_MCA_plm_rsh_args")})
    [text] = said(job)
    assert text.endswith("must not have reserved envs, invalid envs configured: [OMPI_MCA_plm_rsh_args]")


def test_reserved_environment_of_xgboost_is_refused_one_by_one() -> None:
    job = a_trainjob("xgboost-distributed", trainer={"env": env("A", "DMLC_TASK_ID", "DMLC_TRACKER_URI")})
    assert said(job) == [
        "spec.trainer.env[1]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime",
        "spec.trainer.env[2]: Forbidden: DMLC_TRACKER_URI is reserved for the XGBoost runtime",
    ]


def test_targets_of_injected_environment_must_exist() -> None:
    injection = {"targets": [{"jobName": "node", "containerNames": ["sidecar", "lost"]}]}
    runtime = a_runtime(
        a_replicated_job("node", ["node", "sidecar"]), policy={"torch": {"envInjection": injection}}
    )
    [text] = said(a_trainjob(), runtime)
    assert text.startswith(
        'spec.runtimeRef: Invalid value: {"jobName":"node","containerNames":["sidecar","lost"]}: '
    )
    assert text.endswith('envInjection target podSet "node" container "lost" not found in runtime template')


@pytest.mark.parametrize("word", ["auto", "cpu", "gpu", 3])
def test_processes_per_node_may_be_a_number_or_one_of_three_words(word: JSON) -> None:
    assert said(a_trainjob(trainer={"numProcPerNode": word})) == []


@pytest.mark.parametrize("word", ["many", "4"])
def test_other_words_for_processes_per_node_are_refused(word: str) -> None:
    assert said(a_trainjob(trainer={"numProcPerNode": word})) == [
        f'spec.trainer.numProcPerNode: Invalid value: "{word}": must have an int value or [auto cpu gpu]'
    ]


def test_mpi_takes_no_words_for_processes_per_node() -> None:
    assert said(a_trainjob("deepspeed-distributed", trainer={"numProcPerNode": "auto"})) == [
        'spec.trainer.numProcPerNode: Invalid value: "auto": must have an int value for MPI TrainJob'
    ]


@pytest.mark.parametrize(
    ("jobs", "fits"), [(["node"], False), (["launcher"], False), (["node", "launcher"], True)]
)
def test_several_mpi_nodes_need_a_launcher_and_a_node(jobs: list[str], fits: bool) -> None:
    runtime = a_runtime(
        *(a_replicated_job(name) for name in jobs), policy={"mpi": {"runLauncherAsNode": True}}
    )
    found = said(a_trainjob(trainer={"numNodes": 2}), runtime)
    words = (
        "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does "
        "not have either launcher and node"
    )
    assert found == ([] if fits else [f"spec.trainer.numNodes: Invalid value: 2: {words}"])
    assert said(a_trainjob(trainer={"numNodes": 1}), runtime) == []


@pytest.mark.parametrize(("own", "policy", "wrong"), [(0, 1, 0), (None, 0, 0), (2, 0, None)])
def test_flux_needs_a_process_per_node(own: JSON, policy: int, wrong: int | None) -> None:
    trainer = {} if own is None else {"numProcPerNode": own}
    found = said(a_trainjob(trainer=trainer), a_runtime(policy={"flux": {"numProcPerNode": policy}}))
    words = "must be greater than or equal to 1 for Flux TrainJob"
    assert found == (
        [] if wrong is None else [f"spec.trainer.numProcPerNode: Invalid value: {wrong}: {words}"]
    )


def test_the_installer_of_flux_is_its_own() -> None:
    node = a_replicated_job()
    names = [{"name": "setup"}, {"name": "flux-installer"}]
    node["template"]["spec"]["template"]["spec"]["initContainers"] = names
    assert said(a_trainjob(), a_runtime(node, policy={"flux": {}})) == [
        'spec.trainer.initContainers: Invalid value: "flux-installer": InitContainer '
        "'flux-installer' is reserved"
    ]


def volcano(**pod: JSON) -> Object:
    node = a_replicated_job()
    node["template"]["spec"]["template"]["spec"] |= pod
    return a_runtime(node, podGroupPolicy={"volcano": {}})


@pytest.mark.parametrize("place", ["runtimePatches", "annotations"])
def test_a_volcano_queue_has_a_name(place: str) -> None:
    key = "scheduling.volcano.sh/queue-name"
    patch = {
        "manager": MANAGER,
        "trainingRuntimeSpec": {"template": {"metadata": {"annotations": {key: ""}}}},
    }
    job = a_trainjob(
        **{"runtimePatches": [patch]} if place == "runtimePatches" else {"annotations": {key: ""}}
    )
    assert said(job, volcano()) == [
        f'spec.annotations[{key}]: Invalid value: "": Volcano queue name must not be empty'
    ]


def test_the_priority_class_of_a_gang_exists() -> None:
    found = said(a_trainjob(), volcano(priorityClassName="high"), has_priority_class=lambda name: False)
    missing = 'PriorityClass.scheduling.k8s.io "high" not found'
    assert found == [
        'spec.templateSpec.priorityClassName: Invalid value: "high": '
        f'PriorityClass "high" doesn\'t exist: {missing}'
    ]


@pytest.mark.parametrize("name", ["system-cluster-critical", "system-node-critical"])
def test_system_priorities_always_exist(name: str) -> None:
    assert said(a_trainjob(), volcano(priorityClassName=name), has_priority_class=lambda name: False) == []


# --- torchtune --------------------------------------------------------------------------------------------


def tuning(runtime: str = TUNE, **trainer: JSON) -> list[str]:
    found = a_runtime(a_replicated_job(ancestor="trainer"))
    return said(a_trainjob(runtime, trainer={"command": ["tune", "run"], **trainer}), found)


def test_a_single_device_may_use_qlora() -> None:
    one = {"requests": {"nvidia.com/gpu": "1"}}
    assert tuning(args=[QLORA], resourcesPerNode=one) == []
    assert tuning(args=[QLORA], numProcPerNode=1) == []


def test_torchtune_models_are_known_by_the_name_of_the_runtime() -> None:
    assert tuning("torchtune-gemma-2b") == [
        'spec.runtimeRef.name: Invalid value: "torchtune-gemma-2b": must have a supported pretrained model, '
        "invalid model configured: gemma/2B"
    ]
    [text] = tuning("mine")
    assert text.endswith("invalid model configured: ")


def test_most_torchtune_models_run_on_one_node() -> None:
    assert tuning(numNodes=2) == ["spec.trainer.numNodes: Invalid value: 2: must be 1 for llama3_2/1B model"]
    assert tuning("torchtune-llama3.3-70b", numNodes=2) == []


def test_qlora_is_not_for_qwen() -> None:
    assert tuning("torchtune-qwen2.5-1.5b", args=[QLORA]) == [
        'spec.runtimeRef.name: Invalid value: "torchtune-qwen2.5-1.5b": QLoRA is not '
        "supported for qwen2_5/1.5B model"
    ]


def test_qlora_of_small_models_is_for_one_device() -> None:
    two = {"limits": {"nvidia.com/gpu": 2}}
    assert tuning(args=[QLORA], resourcesPerNode=two, numProcPerNode=2) == [
        "spec.trainer.numProcPerNode: Invalid value: 2: must be auto or 1 for "
        "llama3_2/1B model when using QLoRA",
        'spec.trainer.resourcesPerNode: Invalid value: {"limits":{"nvidia.com/gpu":2}}: '
        "must have gpu resource with value 1 for llama3_2/1B model when using QLoRA",
    ]


@pytest.mark.parametrize(
    "args", [["model.quantize_base=False"], [QLORA, "model.use_dora=True"], ["dataset=x"]]
)
def test_what_only_looks_like_qlora_is_accepted(args: list[str]) -> None:
    assert tuning(args=args, resourcesPerNode={"limits": {"nvidia.com/gpu": 2}}) == []


@pytest.mark.parametrize("args", [["model.lora_attn_modules=[q_proj]"], [QLORA]])
def test_lora_does_not_span_nodes(args: list[str]) -> None:
    assert tuning("torchtune-llama3.3-70b", numNodes=2, args=args) == [
        "spec.trainer.numNodes: Invalid value: 2: LoRA fine-tuning is not supported for "
        "multi-node training in TorchTune"
    ]


def test_settings_of_the_runtime_are_not_given_again() -> None:
    assert tuning(args=["epochs=1", "output_dir=/x"]) == [
        'spec.trainer.args[1]: Invalid value: "output_dir=/x": must not set immutable config "output_dir" '
        "in trainer args; it is managed by the runtime"
    ]


def test_devices_of_the_runtime_count_when_the_job_names_none() -> None:
    one = {"name": "node", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    job = a_trainjob(TUNE, trainer={"command": ["tune", "run"], "args": [QLORA]})
    assert said(job, a_runtime(a_replicated_job(containers=["sidecar", one], ancestor="trainer"))) == []
    assert len(said(job, a_runtime(a_replicated_job(), a_replicated_job("other", [one])))) == 2


def test_the_shipped_torchtune_runtime_asks_for_two_devices() -> None:
    job = a_trainjob(TUNE, trainer={"command": ["tune", "run"], "args": [QLORA]})
    assert len(said(job)) == 2


# --- times of patches -------------------------------------------------------------------------------------


def stamped(patch: Object, old: Object | None = None) -> JSON:
    new = a_trainjob(runtimePatches=[copied(patch)])
    before = None if old is None else a_trainjob(runtimePatches=[old])
    trainjobs.stamp_patches(new, before, NOW)
    return new["spec"]["runtimePatches"][0].get("time")


def test_a_new_patch_gets_the_present_time() -> None:
    assert stamped(a_patch()) == NOW
    assert stamped(a_patch(), a_patch(manager="example.com/other")) == NOW


def test_a_new_patch_keeps_the_time_it_came_with_in_whole_seconds() -> None:
    assert stamped({**a_patch(), "time": EARLIER}) == EARLIER
    assert stamped({**a_patch(), "time": "2026-01-01T01:00:00.5+01:00"}) == EARLIER
    assert stamped({**a_patch(), "time": EARLIER}, a_patch(manager="example.com/other")) == EARLIER


def test_an_unchanged_patch_keeps_its_old_time_whatever_it_says() -> None:
    old = {**a_patch(), "time": EARLIER}
    assert stamped(a_patch(), old) == EARLIER
    assert stamped({**a_patch(), "time": "2020-01-01T00:00:00Z"}, old) == EARLIER
    assert stamped({**a_patch(), "time": NOW}, a_patch()) is None


def test_a_changed_patch_gets_the_present_time_whatever_it_says() -> None:
    old = {**a_patch(), "time": EARLIER}
    assert stamped(a_patch(nodeSelector={"a": "b"}), old) == NOW
    assert stamped({**a_patch(nodeSelector={"a": "b"}), "time": EARLIER}, old) == NOW


@given(st.booleans(), st.booleans())
@settings(deadline=None)
def test_stamping_twice_changes_nothing_more(given_time: bool, changed: bool) -> None:
    old = a_trainjob(runtimePatches=[{**a_patch(), "time": EARLIER}])
    new = a_trainjob(runtimePatches=[a_patch(nodeSelector={"a": "b"} if changed else {})])
    if given_time:
        new["spec"]["runtimePatches"][0]["time"] = "2020-01-01T00:00:00Z"
    trainjobs.stamp_patches(new, old, NOW)
    again = copied(new)
    trainjobs.stamp_patches(again, new, "2030-01-01T00:00:00Z")
    assert again == new


# --- the older dialect ------------------------------------------------------------------------------------


def test_each_old_field_is_answered_with_what_replaced_it() -> None:
    job = a_trainjob(
        podTemplateOverrides=[an_override()],
        labels={"a": "b"},
        annotations={"a": "b"},
        trainer={"numProcPerNode": "auto"},
    )
    metadata = "spec.runtimePatches[].trainingRuntimeSpec.template.metadata"
    assert dialects.trainjob_warnings(job) == [
        "spec.podTemplateOverrides: replaced in Trainer v2.2 by "
        "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs",
        f"spec.labels: replaced in Trainer v2.2 by {metadata}.labels",
        f"spec.annotations: replaced in Trainer v2.2 by {metadata}.annotations",
        'spec.trainer.numProcPerNode: the word "auto" was replaced in Trainer v2.2; give '
        "a number, or leave the "
        "field out to have it chosen by the resources",
    ]


def test_the_newer_dialect_is_not_warned_of() -> None:
    assert (
        dialects.trainjob_warnings(a_trainjob(runtimePatches=[a_patch()], trainer={"numProcPerNode": 2}))
        == []
    )


def test_old_fields_of_runtimes_are_answered_too() -> None:
    runtime = a_runtime(policy={"torch": {"numProcPerNode": "auto", "elasticPolicy": {}}})
    assert len(dialects.runtime_warnings(runtime)) == 2
    assert dialects.runtime_warnings(a_runtime()) == []


# --- anything ---------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "node", "auto", "tune", "=x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "spec",
                    "template",
                    "replicatedJobs",
                    "containers",
                    "env",
                    "manager",
                    "targetJobs",
                    "time",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
specs = st.dictionaries(
    st.sampled_from(
        ["runtimeRef", "trainer", "initializer", "runtimePatches", "podTemplateOverrides", "suspend"]
    ),
    anything,
)


@given(specs, specs, anything)
@settings(deadline=None, max_examples=200)
def test_odd_objects_are_judged_without_a_crash(spec: Object, before: Object, template: JSON) -> None:
    job, old = {"metadata": {}, "spec": spec}, {"metadata": {}, "spec": before}
    trainjobs.stamp_patches(job, old, NOW)
    trainjobs.runtime_key(job)
    dialects.trainjob_warnings(job)
    for policy in ("torch", "mpi", "xgboost", "flux"):
        runtime = {
            "spec": {
                "mlPolicy": {policy: template if isinstance(template, dict) else {}},
                "template": template,
            }
        }
        for error in trainjobs.errors(job, old, Surroundings(runtime, jobset={"status": template})):
            assert str(error)


# --- quantities -------------------------------------------------------------------------------------------


def test_quantities_are_written_as_kubernetes_prints_them() -> None:
    job = a_trainjob(
        trainer={"resourcesPerNode": {"limits": {"cpu": 1.0, "memory": "1024Mi"}, "requests": None}}
    )
    trainjobs.tidy_resources(job)
    assert job["spec"]["trainer"]["resourcesPerNode"]["limits"] == {"cpu": "1", "memory": "1Gi"}
