"""Previews: the origin of every line, and what often goes wrong."""

from __future__ import annotations

import pytest

from tests.pure.merge_objects import a_torch_runtime
from tests.pure.training_objects import (
    a_patch,
    a_replicated_job,
    a_runtime,
    a_trainjob,
    an_override,
    built_in,
)
from trainshed.controllers.trainjob.lints import Lint
from trainshed.controllers.trainjob.preview import Preview, preview
from trainshed.kinds.trainer import templates
from trainshed.kinds.trainer.runtimes import FRAMEWORK
from trainshed.kube.objects import JSON, Object

NODE = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0)
SDK = "trainer.kubeflow.org/kubeflow-sdk"
COMMAND: Object = {"command": ["train"]}


def shown(runtime: Object | str = "torch-distributed", /, **spec: JSON) -> Preview:
    found = built_in(runtime) if isinstance(runtime, str) else runtime
    return preview(a_trainjob(found["metadata"]["name"], **spec), found)


def rules(found: Preview) -> set[str]:
    return {lint.rule for lint in found.warnings}


def a_labelled_runtime(container: Object | None = None, **pod: JSON) -> Object:
    runtime = a_torch_runtime(container, **pod)
    runtime["metadata"]["labels"] = {FRAMEWORK: "torch"}
    return runtime


# --- origins ----------------------------------------------------------------------------------------------


def test_every_line_names_its_source() -> None:
    patch = a_patch(
        manager=SDK, containers=[{"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]
    )
    trainer = {"numNodes": 2, "command": ["c"], "env": [{"name": "A", "value": "1"}]}
    found = shown(runtimePatches=[patch], trainer=trainer).provenance
    assert found[("apiVersion",)] == "trainjob metadata"
    assert found[(*NODE, "image")] == "runtime torch-distributed"
    assert found[(*NODE, "volumeMounts", 0, "name")] == f"patch {SDK}"
    assert found[(*NODE, "env", 0, "value")] == "trainer.env"
    assert found[(*NODE, "env", 1, "value")] == "plugin torch"
    assert found[(*NODE, "command", 0)] == "trainer.command"
    assert found[(*NODE[:5], "parallelism")] == "trainer.numNodes"
    assert found[(*NODE[:7], "restartPolicy")] == "jobset default"
    assert found[("spec", "suspend")] == "spec.suspend"


def test_of_a_changed_variable_only_the_value_has_a_new_source() -> None:
    runtime = a_labelled_runtime({"env": [{"name": "A", "value": "0"}, {"name": "B", "value": "0"}]})
    found = shown(runtime, trainer={"env": [{"name": "B", "value": "1"}]}).provenance
    assert found[(*NODE, "env", 0, "value")] == "runtime r"
    assert found[(*NODE, "env", 1, "name")] == "runtime r"
    assert found[(*NODE, "env", 1, "value")] == "trainer.env"


def test_a_list_that_is_put_in_another_order_keeps_its_sources() -> None:
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]
    runtime = a_labelled_runtime(volumes=volumes)
    override = an_override(volumes=[{"name": "new", "emptyDir": {}}])
    found = shown(runtime, podTemplateOverrides=[override])
    sources = {
        volume["name"]: found.provenance[(*NODE[:7], "volumes", index, "name")]
        for index, volume in enumerate(
            found.jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["volumes"]
        )
    }
    assert sources == {"new": "podTemplateOverrides[0]", "a": "runtime r", "b": "runtime r"}


def test_objects_beside_the_jobset_name_their_maker() -> None:
    found = shown("deepspeed-distributed", trainer={"numNodes": 2})
    assert [(obj["kind"], source) for obj, source in found.objects] == [
        ("Secret", "plugin mpi"),
        ("ConfigMap", "plugin mpi"),
    ]


def test_a_manifest_straight_from_a_file_is_enough() -> None:
    spec = {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"command": ["train"]}}
    job = {"metadata": {"name": "t"}, "spec": spec}
    before = str(job)
    found = preview(job, built_in("torch-distributed"))
    assert found.jobset["metadata"]["name"] == "t"
    assert found.warnings == ()
    assert str(job) == before


# --- lints ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["torch-distributed", "jax-distributed", "xgboost-distributed", "deepspeed-distributed"]
)
def test_a_sound_job_has_no_warnings(name: str) -> None:
    assert shown(name, trainer={"numNodes": 2, "command": ["train"]}).warnings == ()


def test_a_wrong_container_is_named_beside_the_right_one() -> None:
    found = shown(podTemplateOverrides=[an_override(containers=[{"name": "nodes"}])], trainer={})
    lint = found.warnings[0]
    assert (lint.severity, lint.path) == ("error", "spec.podTemplateOverrides")
    assert lint.message.endswith(
        'container "nodes" in podTemplateOverrides does not exist in the runtime; it has "node"'
    )


def test_an_unknown_job_is_an_error() -> None:
    found = shown(runtimePatches=[a_patch("nodes")], trainer={})
    assert found.warnings[0].message.endswith(
        'job "nodes" in runtimePatches does not exist in the runtime; it has "node"'
    )


RANKS = ["bash", "-c", "export RANK=$PET_NODE_RANK\nexport WORLD_SIZE=${PET_NNODES:-1}\npython train.py"]


@pytest.mark.parametrize(
    ("trainer", "warned"),
    [
        ({"command": RANKS, "numProcPerNode": 2}, True),
        ({"command": RANKS, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}, True),
        ({"command": RANKS, "resourcesPerNode": {"requests": {"cpu": "4"}}}, True),
        ({"command": RANKS, "numProcPerNode": 1}, False),
        ({"command": RANKS}, False),
        ({"command": ["bash", "-c", "export MY_RANK=$PET_NODE_RANK"], "numProcPerNode": 2}, False),
    ],
)
def test_ranks_of_nodes_are_no_ranks_of_several_processes(trainer: Object, warned: bool) -> None:
    assert ("rank-of-node" in rules(shown(trainer=trainer))) is warned


@pytest.mark.parametrize("name", ["RANK", "MY_RANK"])
def test_ranks_of_nodes_are_found_in_variables_too(name: str) -> None:
    env = [{"name": name, "value": "$(PET_NODE_RANK)"}]
    found = shown(trainer={"env": env, "numProcPerNode": 2}).warnings
    paths = [lint.path for lint in found if lint.rule == "rank-of-node"]
    assert paths == (["spec.trainer.env"] if name == "RANK" else [])


@pytest.mark.parametrize(
    ("command", "number", "warned"),
    [
        (["torchrun", "--nproc_per_node=8", "train.py"], 2, True),
        (["torchrun", "--nproc-per-node", "8", "train.py"], 2, True),
        (["bash", "-c", "torchrun --nproc_per_node 8 train.py"], 2, True),
        (["torchrun", "--nproc_per_node=2", "train.py"], 2, False),
        (["torchrun", "--nproc_per_node=gpu", "train.py"], 2, False),
        (["torchrun", "--nproc_per_node=8", "train.py"], None, False),
    ],
)
def test_a_command_that_counts_processes_otherwise_is_told(
    command: list[str], number: int | None, warned: bool
) -> None:
    trainer: Object = {"command": command, **({"numProcPerNode": number} if number else {})}
    found = [lint.message for lint in shown(trainer=trainer).warnings if lint.rule == "processes-twice"]
    assert bool(found) is warned
    assert all("8 counts, and PET_NPROC_PER_NODE=2 does not" in said for said in found)


def test_annotations_that_say_nothing_are_told() -> None:
    job = a_trainjob("torch-distributed", trainer={})
    job["metadata"]["annotations"] = {
        "trainshed.dev/ttl-seconds-after-finished": "soon",
        "trainshed.dev/retries": "3",
    }
    (found,) = (lint for lint in preview(job, built_in("torch-distributed")).warnings if "annot" in lint.rule)
    assert found.path == "metadata.annotations[trainshed.dev/ttl-seconds-after-finished]"
    assert found.message == '"soon" is ignored: give a whole number of seconds, such as "60"'


def test_very_many_pods_and_runtime_classes_are_told() -> None:
    found = shown(trainer={"numNodes": 2000}, runtimePatches=[a_patch(runtimeClassName="gvisor")])
    assert {"too-many-pods", "runtime-class"} <= rules(found)


def test_ranks_set_in_the_runtimes_own_command_are_seen_too() -> None:
    runtime = a_labelled_runtime(
        {"command": ["sh"], "args": ["-c", 'RANK="${PET_NODE_RANK}" python train.py']}
    )
    assert "rank-of-node" in rules(shown(runtime, trainer={"numProcPerNode": 4}))


GPUS = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": "2"}}}


def test_several_processes_need_shared_memory() -> None:
    assert "no-shared-memory" in rules(shown(trainer=GPUS))
    mine = [{"name": "node", "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}]}]
    volume = [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    found = shown(trainer=GPUS, runtimePatches=[a_patch(containers=mine, volumes=volume)])
    assert "no-shared-memory" not in rules(found)


def test_a_mount_without_its_volume_is_an_error() -> None:
    mine = [{"name": "node", "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}]}]
    (lint,) = shown(trainer=COMMAND, runtimePatches=[a_patch(containers=mine)]).warnings
    assert (lint.rule, lint.severity) == ("pods-refused", "error")
    assert lint.path == (
        "replicatedJobs[node].template.spec.template.spec.containers[0].volumeMounts[0].name"
    )
    assert lint.message == (
        'container "node" mounts "dshm" at /dev/shm, but no volume is called so; there are no volumes'
    )


@pytest.mark.parametrize("member", ["initContainers", "containers"])
def test_a_mount_without_its_volume_is_told_which_volumes_there_are(member: str) -> None:
    wrong = {"name": "x", "image": "I", "command": ["c"], "volumeMounts": [{"name": "cc", "mountPath": "/c"}]}
    runtime = a_labelled_runtime({"command": ["c"]}, volumes=[{"name": n, "emptyDir": {}} for n in "ab"])
    templates.pod(templates.jobs(runtime)[0]).setdefault(member, []).append(wrong)
    (lint,) = shown(runtime, trainer={}).warnings
    assert lint.message == (
        'container "x" mounts "cc" at /c, but no volume is called so; the pod\'s volumes are "a", "b"'
    )


def test_a_mount_of_a_volume_that_is_wrong_itself_is_not_said_to_have_none() -> None:
    broken = [{"name": "data", "hostPath": {"path": "../d"}}]
    runtime = a_labelled_runtime(
        {"command": ["c"], "volumeMounts": [{"name": "data", "mountPath": "/d"}]}, volumes=broken
    )
    found = shown(runtime, trainer={}).warnings
    assert found
    assert not [lint for lint in found if "no volume is called so" in lint.message]


def test_a_time_to_live_says_what_it_removes() -> None:
    runtime = a_labelled_runtime()
    template = runtime["spec"]["template"]["spec"]
    template["replicatedJobs"][0]["template"]["spec"]["ttlSecondsAfterFinished"] = 60
    assert rules(shown(runtime, trainer=COMMAND)) == {"ttl-on-job"}
    del template["replicatedJobs"][0]["template"]["spec"]["ttlSecondsAfterFinished"]
    template["ttlSecondsAfterFinished"] = 60
    assert rules(shown(runtime, trainer=COMMAND)) == {"ttl-on-jobset"}
    assert rules(shown(trainer=COMMAND, ttlSecondsAfterFinished=60)) == {"ttl-on-trainjob"}


def test_a_time_to_live_of_an_initializer_makes_it_run_again() -> None:
    runtime = built_in("torchtune-llama3.2-1b")
    runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"][
        "ttlSecondsAfterFinished"
    ] = 1
    (lint,) = [lint for lint in shown(runtime, trainer={}).warnings if lint.rule == "ttl-on-job"]
    assert "runs again" in lint.message


def without_command(found: Preview) -> list[Lint]:
    return [lint for lint in found.warnings if lint.rule == "no-command"]


@pytest.mark.parametrize(
    ("trainer", "have"),
    [
        ({"numNodes": 1, "numProcPerNode": 1}, "no command"),
        ({"command": []}, "no command"),
        ({"args": ["train.py"]}, "only args"),
    ],
)
def test_a_trainer_without_a_command_is_warned_of_as_the_runner_would(trainer: Object, have: str) -> None:
    (lint,) = shown(trainer=trainer).warnings
    assert (lint.rule, lint.path, lint.severity) == ("no-command", "spec.trainer.command", "warning")
    assert lint.message == (
        f'container "node" has {have}, and images are not pulled here, so none has an entry point: the job '
        "waits for ever; set its command, unless it is for a cluster and the image has an entry point"
    )


def test_a_command_of_the_runtime_is_one() -> None:
    assert shown(a_labelled_runtime({"command": ["sh"]}), trainer={"args": ["-c", "true"]}).warnings == ()
    assert shown("mlx-distributed", trainer=COMMAND).warnings == ()


def test_containers_beside_the_trainers_are_named_by_their_place() -> None:
    helper, early = {"name": "helper", "image": "I"}, {"name": "early", "image": "I", "args": ["x"]}
    runtime = a_labelled_runtime({"command": ["c"]}, initContainers=[early])
    templates.pod(templates.jobs(runtime)[0])["containers"].append(helper)
    pod = "spec.replicatedJobs[node].template.spec.template.spec"
    found = without_command(shown(runtime, trainer={}))
    assert [lint.path for lint in found] == [
        f"{pod}.initContainers[0].command",
        f"{pod}.containers[1].command",
    ]
    assert found[0].message.startswith('container "early" has only args, ')
    assert "set its command in the runtime, unless " in found[1].message


def test_initializers_need_commands_too() -> None:
    found = without_command(shown("torchtune-llama3.2-1b", trainer={}))
    assert [lint.path.partition(".template")[0] for lint in found] == [
        "spec.replicatedJobs[dataset-initializer]",
        "spec.replicatedJobs[model-initializer]",
    ]


def test_what_never_runs_needs_no_command() -> None:
    runtime = a_labelled_runtime()
    runtime["spec"]["template"]["spec"]["replicatedJobs"].append(a_replicated_job("spare", replicas=0))
    assert without_command(shown(runtime, trainer=COMMAND)) == []


def test_what_is_stood_in_for_needs_no_command() -> None:
    env = [{"name": "TARGET_DIR", "value": "/opt/kube"}]
    kubectl = {"name": "kubectl-delivery", "image": "example.com/kubectl-delivery:1", "env": env}
    assert shown(a_labelled_runtime(initContainers=[kubectl]), trainer=COMMAND).warnings == ()


@pytest.mark.parametrize(
    ("trainer", "rule"),
    [
        ({"resourcesPerNode": {"limits": {"cpu": "4"}}, "numProcPerNode": 1}, "limits-without-requests"),
        ({"resourcesPerNode": {"requests": {"cpu": "2"}}, "numProcPerNode": 8}, "more-processes-than-cpus"),
        ({**GPUS, "numProcPerNode": 8}, "more-processes-than-gpus"),
        ({"numProcPerNode": "auto"}, "old-field"),
    ],
)
def test_what_is_probably_not_meant_is_warned_of(trainer: Object, rule: str) -> None:
    assert rule in rules(shown(trainer=trainer))


def test_gpus_of_the_runtime_are_not_forgotten() -> None:
    runtime = a_labelled_runtime({"resources": {"limits": {"nvidia.com/gpu": "4"}}})
    found = shown(runtime, trainer={"resourcesPerNode": {"requests": {"cpu": "1"}}})
    assert "forgotten-gpus" in rules(found)


def test_without_a_trainer_there_are_no_variables() -> None:
    (lint,) = shown(a_labelled_runtime(COMMAND)).warnings
    assert (lint.rule, "PET_*" in lint.message) == ("no-trainer", True)


def test_two_sources_of_one_volume_are_an_error() -> None:
    runtime = a_labelled_runtime(volumes=[{"name": "data", "emptyDir": {}}])
    other = [{"name": "data", "hostPath": {"path": "/d"}}]
    assert "two-sources" in rules(shown(runtime, trainer={}, runtimePatches=[a_patch(volumes=other)]))


def test_the_wrong_runtime_is_noticed() -> None:
    found = preview(a_trainjob("torch-distributed", trainer={}), a_labelled_runtime())
    assert found.warnings[0].rule == "wrong-runtime"


def test_a_name_too_long_for_its_pods_is_an_error() -> None:
    job = a_trainjob(trainer={})
    job["metadata"]["name"] = "x" * 63
    assert "jobset-refused" in rules(preview(job, built_in("torch-distributed")))


def test_what_cannot_run_is_shown_all_the_same() -> None:
    found = shown(a_torch_runtime(policy={"flux": {}}), trainer={"numNodes": 1})
    assert found.warnings[0].severity == "error"
    assert "flux" in found.warnings[0].message
    assert found.jobset["spec"]["replicatedJobs"]


def test_runtimes_the_sdk_would_not_list_are_noticed() -> None:
    assert "no-framework" in rules(shown(a_runtime(a_replicated_job(ancestor="trainer")), trainer={}))
