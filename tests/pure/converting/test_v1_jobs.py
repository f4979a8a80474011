"""Jobs of v1 as TrainJobs: the server takes them, and their pods are told what v1's operator told them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from tests.pure.converting import simulated
from trainshed.controllers.trainjob import shapes
from trainshed.jobs.converting.converting import convert
from trainshed.kinds.kind import Kind
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import JSON, Object, copied

MANIFESTS = simulated.manifests()
SAMPLES = {manifest["metadata"]["name"]: manifest for manifest in MANIFESTS}
PORTS = {
    "simple": "23456",
    "torchrun": "23456",
    "elastic": "23456",
    "equipped": "24456",
    "iris": "9991",
    "spmd": "6666",
}
"""Jobs whose first pod is reached on 29500 now, and where it was."""
_OTHER = frozenset({"POD_IP_DUMMY", "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile"})
each = pytest.mark.parametrize("manifest", MANIFESTS, ids=SAMPLES)


@pytest.fixture(scope="session")
def known(schemas: Schemas) -> Mapping[str, Kind]:
    return shapes.kinds(schemas)


@each
def test_the_server_takes_what_comes_out(manifest: Object, known: Mapping[str, Kind]) -> None:
    found = convert([manifest])
    assert found.converted == 1
    for document in found.documents:
        assert shapes.checked(document, known)[1] == []
    assert simulated.trainjob_pods(found.documents)
    lost = [finding.line for finding in found.findings if finding.verdict.startswith("not c")]
    assert lost == []


@each
def test_pods_are_told_the_same(manifest: Object) -> None:
    """Addresses are those of the same pods, under their new names."""
    topology = simulated.topology_of(manifest)
    after = simulated.trainjob_pods(convert([manifest]).documents)
    assert len(after) == len(simulated.v1_pods(manifest))
    for (kind, index), old in simulated.v1_pods(manifest).items():
        new = after[topology.address(kind, index).partition(".")[0]]
        for name, value in old.variables.items():
            if name in _OTHER or name.startswith("I_MPI_") or is_torchruns(name, new, manifest):
                continue
            expected = translated(name, value, manifest)
            assert normal(new.variables.get(name)) == normal(expected), (kind, index, name)


def is_torchruns(name: str, new: simulated.Seen, manifest: Object) -> bool:
    """Does the program get it from torchrun in any case?"""
    words = str(new.pod["spec"]["containers"][0])
    inner = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
    # With a policy of PyTorch's own, one process runs for each CPU unless it is said.
    counted = name == "PET_NPROC_PER_NODE" and "nprocPerNode" not in manifest["spec"]
    return counted or (name in inner and ("torchrun" in words or "torch.distributed" in words))


def translated(variable: str, value: str, manifest: Object) -> str:
    topology, name = simulated.topology_of(manifest), manifest["metadata"]["name"]
    types = {part.type.lower(): part.type for part in topology.parts}
    hosts = re.compile(rf"\b{name}-({'|'.join(types)})-(\d+)(\.[a-z]+\.svc)?(?![-\w])")
    value = hosts.sub(lambda found: topology.address(types[found[1]], int(found[2])), value)
    port = PORTS.get(name)
    if value == port and variable != "WORKER_PORT":
        return "29500"
    return value.replace(f":{port}", ":29500")


def normal(value: str | None) -> object:
    return json.loads(value) if value and value.startswith("{") else value


def test_ports_of_xgboost_workers_stay_and_the_masters_is_that_of_the_tracker() -> None:
    pods = simulated.trainjob_pods(convert([SAMPLES["iris"]]).documents)
    told = pods["iris-node-0-2"].variables
    assert (told["MASTER_PORT"], told["DMLC_TRACKER_PORT"], told["WORKER_PORT"]) == ("29500", "29500", "9991")
    assert told["DMLC_TASK_ID"] == told["RANK"] == "2"


# --- what becomes of which job ------------------------------------------------------------------------------


def made(name: str) -> list[Object]:
    return list(convert([SAMPLES[name]]).documents)


def test_alike_pods_that_a_trainjob_can_describe_use_the_runtime_everybody_has() -> None:
    (job,) = made("torchrun")
    assert job["spec"]["runtimeRef"] == {"name": "torch-distributed"}
    trainer = job["spec"]["trainer"]
    assert (trainer["numNodes"], trainer["numProcPerNode"]) == (4, 2)
    assert trainer["resourcesPerNode"]["limits"] == {"nvidia.com/gpu": "2"}
    assert trainer["env"] == [{"name": "PYTHONUNBUFFERED", "value": "1"}]
    assert job["spec"]["suspend"] is False
    assert job["spec"]["activeDeadlineSeconds"] == 3600
    (patch,) = job["spec"]["runtimePatches"]
    (node,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = node["template"]["spec"]["template"]
    assert pod["metadata"]["annotations"] == {"sidecar.istio.io/inject": "false"}
    assert sorted(pod["spec"]) == ["containers", "nodeSelector", "tolerations", "volumes"]


def test_a_program_without_torchrun_keeps_the_variables_it_reads() -> None:
    (job,) = made("simple")
    given = {item["name"]: item for item in job["spec"]["trainer"]["env"]}
    assert given["WORLD_SIZE"]["value"] == "2"
    assert given["MASTER_ADDR"]["value"] == "simple-node-0-0.simple"
    assert "job-completion-index" in given["RANK"]["valueFrom"]["fieldRef"]["fieldPath"]


@pytest.mark.parametrize(
    "script",
    [
        "torchrun train.py",
        "cd /work && pip install -q x 2>&1 && exec torchrun --nnodes ${PET_NNODES} \\\n  train.py | cat",
        "# python first\nexport A=1; if [ -e a ]; then B=2 python3 -m torch.distributed.run a.py; fi",
    ],
)
def test_where_only_torchrun_is_started_it_sets_the_ranks_itself(script: str) -> None:
    assert not variables_of(script) & {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


@pytest.mark.parametrize(
    "script",
    [
        "python3 -c 'print(1)' && echo torchrun here",
        "./prepare.sh --download && torchrun train.py",
        "A=$(python rank.py) torchrun train.py",
        "torchrun train.py; prepare",
        "bash first.sh & torchrun train.py",
        "cat > a.sh <<E\nnvidia-smi\nE\n. a.sh\ntorchrun train.py",
        "torchrun-like train.py",
        "cat a.py | python3 -; torchrun train.py",
        "sudo x; torchrun train.py",
        "gitdo; torchrun train.py",
    ],
)
def test_other_programs_beside_torchrun_keep_the_variables_they_may_read(script: str) -> None:
    assert variables_of(script) > {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


def test_a_script_in_a_file_keeps_the_variables_whatever_its_arguments_are() -> None:
    assert variables_of("run.sh", "bash", "torchrun") > {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


def variables_of(script: str, *shell: str) -> set[str]:
    """The names of those that a program is given by the TrainJob."""
    job = copied(SAMPLES["torchrun"])
    command = [shell[0], script, *shell[1:]] if shell else ["bash", "-c", script]
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        (container,) = replica["template"]["spec"]["containers"]
        container |= {"command": command, "args": []}
    (made,) = convert([job]).documents
    return {item["name"] for item in made["spec"]["trainer"]["env"]}


def test_unlike_masters_and_workers_become_two_jobs_of_a_runtime() -> None:
    runtime, job = made("unlike")
    assert job["spec"]["runtimeRef"] == {"kind": "TrainingRuntime", "name": "unlike"}
    master, worker = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    assert (master["name"], master["template"]["spec"]["backoffLimit"]) == ("master", 3)
    assert (worker["name"], worker["replicas"]) == ("worker", 2)
    fails = worker["template"]["spec"]["podFailurePolicy"]["rules"][1]
    assert fails["action"] == "FailJob"
    assert fails["onExitCodes"]["values"] == list(range(1, 128))
    labels = worker["template"]["spec"]["template"]["metadata"]["labels"]
    assert labels == {"training.kubeflow.org/job-name": "unlike"}
    assert job["metadata"]["annotations"] == {"trainshed.dev/ttl-seconds-after-finished": "60"}


def test_labels_that_one_types_placement_asks_for_are_on_the_pods_of_all() -> None:
    job = copied(SAMPLES["unlike"])
    chosen = {"labelSelector": {"matchLabels": {"training.kubeflow.org/job-name": "unlike"}}}
    term = {**chosen, "topologyKey": "kubernetes.io/hostname"}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["affinity"] = near
    for seen in simulated.trainjob_pods(convert([job]).documents).values():
        assert seen.pod["metadata"]["labels"]["training.kubeflow.org/job-name"] == "unlike"


@pytest.mark.parametrize(
    ("name", "limit", "is_told"),
    [("unlike", 2, True), ("unlike", 6, True), ("unlike", 1, False), ("simple", 2, False)],
)
def test_a_limit_that_each_job_counts_for_itself_is_told_of(name: str, limit: int, is_told: bool) -> None:
    job = copied(SAMPLES[name])
    job["spec"]["runPolicy"] = {"backoffLimit": limit}
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["restartPolicy"] = "OnFailure"
    told = [one.verdict for one in convert([job]).findings if one.field == "spec.runPolicy.backoffLimit"]
    assert told == (["behaves differently"] if is_told else [])


def test_elastic_bounds_go_to_the_runtime() -> None:
    runtime, job = made("elastic")
    policy = runtime["spec"]["mlPolicy"]
    assert policy == {"torch": {"elasticPolicy": {"minNodes": 1, "maxNodes": 3, "maxRestarts": 100}}}
    assert job["spec"]["trainer"]["numNodes"] == 3


def test_what_only_runtimes_can_say_is_in_a_runtime() -> None:
    runtime, job = made("equipped")
    (node,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    pod = node["template"]["spec"]["template"]["spec"]
    assert (pod["priorityClassName"], pod["restartPolicy"]) == ("high", "Never")
    assert [container["name"] for container in pod["containers"]] == ["node", "exporter"]
    cpus = job["spec"]["trainer"]["env"][0]["valueFrom"]["resourceFieldRef"]
    assert cpus["containerName"] == "node"
    assert "RANK" in {item["name"] for item in pod["containers"][1]["env"]}


def test_parameter_servers_do_not_keep_a_job_from_ending() -> None:
    runtime, _ = made("parameter-servers")
    spec = runtime["spec"]["template"]["spec"]
    assert spec["successPolicy"]["targetReplicatedJobs"] == ["chief"]
    assert [job["name"] for job in spec["replicatedJobs"]] == ["chief", "worker", "ps", "evaluator"]


def test_only_the_container_that_trains_is_told_of_tensorflows_cluster() -> None:
    job = copied(SAMPLES["parameter-servers"])
    for replica in job["spec"]["tfReplicaSpecs"].values():
        replica["template"]["spec"]["containers"].append({"name": "side", "image": "s"})
    for seen in simulated.trainjob_pods(convert([job]).documents).values():
        side = next(one for one in seen.pod["spec"]["containers"] if one["name"] == "side")
        assert "TF_CONFIG" not in [item["name"] for item in side.get("env", ())]
        assert "TF_CONFIG" in seen.variables


def test_a_type_that_v1_takes_no_notice_of_is_told_to_count_now() -> None:
    """Case 5."""
    job = copied(SAMPLES["parameter-servers"])
    replicas = job["spec"]["tfReplicaSpecs"]
    replicas["Odd"] = copied(replicas["Worker"])
    told = [one.why for one in convert([job]).findings if one.field == "spec.tfReplicaSpecs.Odd"]
    assert told == ["a pod of Odd that fails for good fails the job; v1 takes no notice of the type"]


def test_workers_of_mpi_run_sshd_and_the_launcher_waits_for_them() -> None:
    runtime, job = made("horovod")
    node, launcher = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    assert node["template"]["spec"]["template"]["spec"]["containers"][0]["command"] == [
        "/usr/sbin/sshd",
        "-De",
    ]
    assert launcher["dependsOn"] == [{"name": "node", "status": "Ready"}]
    assert runtime["spec"]["mlPolicy"]["mpi"]["numProcPerNode"] == 2
    assert job["spec"]["trainer"]["command"] == ["mpirun"]


def test_a_name_that_is_made_up_later_is_referred_to() -> None:
    job = {**SAMPLES["simple"], "metadata": {"generateName": "train-"}}
    (found,) = convert([job]).documents
    env = found["spec"]["trainer"]["env"]
    assert env[0]["name"] == "TRAINJOB_NAME"
    assert {"name": "MASTER_ADDR", "value": "$(TRAINJOB_NAME)-node-0-0.$(TRAINJOB_NAME)"} in env


# --- what is not converted ----------------------------------------------------------------------------------


def test_a_part_of_a_job_is_left_alone_and_told_of() -> None:
    patch = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "simple"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}},
    }
    found = convert([patch])
    assert found.documents == (patch,)
    (told,) = found.findings
    assert told.verdict == "not converted"
    assert "must be specified" in told.why
    assert "-k" in told.advice


@pytest.mark.parametrize("version", ["kubeflow.org/v1alpha1", "kubeflow.org/v1beta2"])
def test_versions_nobody_knows_are_left_alone(version: str) -> None:
    job = {**SAMPLES["simple"], "apiVersion": version}
    assert convert([job]).documents == (job,)


def test_other_objects_pass_untouched() -> None:
    others: list[JSON] = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}},
        None,
        "text",
        {"resources": []},
    ]
    found = convert(others)
    assert found.documents == tuple(others)
    assert (found.findings, found.converted) == ((), 0)


def test_two_jobs_that_would_have_one_name_are_told_of() -> None:
    other = {**SAMPLES["spmd"], "metadata": {"name": "simple"}}
    told = convert([SAMPLES["simple"], other]).findings[-1]
    assert told.object == "TrainJob/simple"
    assert told.why.startswith("PyTorchJob and JAXJob of this name both become one")


def test_what_was_there_twice_is_no_matter_of_conversion() -> None:
    findings = convert([SAMPLES["simple"], SAMPLES["simple"]]).findings
    assert all(finding.verdict != "not converted" for finding in findings)


def test_patches_of_a_kustomization_are_told_of() -> None:
    kustomization = {"kind": "Kustomization", "patches": [{"target": {"kind": "PyTorchJob"}, "patch": "..."}]}
    (told,) = convert([kustomization]).findings
    assert told.line.startswith("not converted: Kustomization: patches[0]: ")


def test_trials_of_an_experiment_are_told_of() -> None:
    trial = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {}}
    experiment = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment", "metadata": {"name": "e"}}
    found = convert([{**experiment, "spec": {"trialTemplate": {"trialSpec": trial}}}])
    (told,) = found.findings
    assert told.line.startswith("not converted: Experiment/e: spec.trialTemplate.trialSpec: ")


# --- run policies -------------------------------------------------------------------------------------------


def with_policy(**policy: JSON) -> tuple[list[Object], dict[str, str]]:
    """The objects, and the verdict on each field that was told of."""
    job = SAMPLES["simple"]
    found = convert([{**job, "spec": {**job["spec"], "runPolicy": policy}}])
    return list(found.documents), {finding.field: finding.verdict for finding in found.findings}


def test_a_queue_is_volcanos_and_a_time_is_that_of_coscheduling() -> None:
    (runtime, _), _ = with_policy(schedulingPolicy={"queue": "gold"})
    assert runtime["spec"]["podGroupPolicy"] == {"volcano": {}}
    notes = runtime["spec"]["template"]["metadata"]["annotations"]
    assert notes == {"scheduling.volcano.sh/queue-name": "gold"}
    (runtime, _), _ = with_policy(schedulingPolicy={"scheduleTimeoutSeconds": 30, "priorityClass": "high"})
    assert runtime["spec"]["podGroupPolicy"] == {"coscheduling": {"scheduleTimeoutSeconds": 30}}
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == "high"


def test_a_smaller_gang_is_an_annotation_and_the_whole_one_goes_without_saying() -> None:
    (job,), told = with_policy(schedulingPolicy={"minAvailable": 1})
    (patch,) = job["spec"]["runtimePatches"]
    (node,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert node["template"]["spec"]["template"]["metadata"]["annotations"] == {
        "trainshed.dev/gang-minimum": "1"
    }
    assert told["spec.runPolicy.schedulingPolicy.minAvailable"] == "behaves differently"
    (job,), told = with_policy(schedulingPolicy={"minAvailable": 2})
    assert "runtimePatches" not in job["spec"]
    assert told["spec.runPolicy.schedulingPolicy.minAvailable"] == "not needed"


def test_deadlines_managers_and_suspension_are_the_trainjobs() -> None:
    (job,), _ = with_policy(suspend=True, managedBy="kueue.x-k8s.io/multikueue", activeDeadlineSeconds=9)
    assert job["spec"]["suspend"] is True
    assert job["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    assert job["spec"]["activeDeadlineSeconds"] == 9
    _, told = with_policy(activeDeadlineSeconds=0)
    assert told["spec.runPolicy.activeDeadlineSeconds"] == "not carried over"


def test_jobs_of_the_mpi_operator_convert_too() -> None:
    spec = {**SAMPLES["horovod"]["spec"], "sshAuthMountPath": "/home/u/.ssh", "runLauncherAsWorker": True}
    job = {**SAMPLES["horovod"], "apiVersion": "kubeflow.org/v2beta1", "spec": spec}
    runtime, made = convert([job]).documents
    policy = runtime["spec"]["mlPolicy"]["mpi"]
    assert (policy["sshAuthMountPath"], policy["runLauncherAsNode"]) == ("/home/u/.ssh", True)
    assert made["spec"]["trainer"] == {"numNodes": 3, "numProcPerNode": 2}


@pytest.mark.parametrize(
    ("said", "limit", "policy", "job"),
    [
        ("", None, "OnFailure", {}),
        ("Never", None, "Never", {}),
        ("OnFailure", 6, "OnFailure", {"backoffLimit": 6}),
    ],
)
def test_a_launcher_that_is_a_job_already_is_tried_again_as_before(
    said: str, limit: int | None, policy: str, job: Object
) -> None:
    """That of kubeflow.org/v2beta1 reaches its workers by ssh already, and computes only where it is told."""
    found = copied({**SAMPLES["horovod"], "apiVersion": "kubeflow.org/v2beta1"})
    found["spec"]["runPolicy"] = {"backoffLimit": limit}
    launcher = found["spec"]["mpiReplicaSpecs"]["Launcher"]
    launcher["restartPolicy"] = said
    made = convert([found])
    template = made.documents[0]["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["spec"]
    assert template.pop("template")["spec"]["restartPolicy"] == policy
    assert {name: value for name, value in template.items() if name == "backoffLimit"} == job
    told = [
        one.why for one in made.findings if "ssh" in one.why or one.field.endswith("Launcher.restartPolicy")
    ]
    assert told == []


@pytest.mark.parametrize("limit", [None, 3])
def test_a_policy_no_job_has_leaves_the_limit_of_a_launcher_as_it_was(limit: int | None) -> None:
    found = copied({**SAMPLES["horovod"], "apiVersion": "kubeflow.org/v2beta1"})
    found["spec"]["runPolicy"] = {"backoffLimit": limit}
    found["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Always"
    made = convert([found])
    template = made.documents[0]["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["spec"]
    assert (template.get("backoffLimit"), template["template"]["spec"]["restartPolicy"]) == (
        limit,
        "OnFailure",
    )
    (told,) = [one for one in made.findings if one.field.endswith("Launcher.restartPolicy")]
    assert (told.verdict, "Jobs refuse" in told.why) == ("behaves differently", True)
    assert [one for one in made.findings if one.field == "spec.runPolicy.backoffLimit"] == []


def test_a_launcher_that_is_told_to_compute_keeps_its_gpus() -> None:
    for joins in (True, False):
        job = copied({**SAMPLES["horovod"], "apiVersion": "kubeflow.org/v2beta1"})
        job["spec"]["runLauncherAsWorker"] = joins
        written = json.dumps(convert([job]).documents)
        assert ("NVIDIA_VISIBLE_DEVICES" in written) is not joins


def test_a_variable_that_is_overruled_still_counts_for_those_before() -> None:
    env: list[Object] = [
        {"name": "RANK", "value": "5"},
        {"name": "ME", "value": "$(RANK) of $$(RANK)"},
    ]
    container = {"name": "pytorch", "image": "i", "command": ["python", "a.py"], "env": env}
    replica = {"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    spec = {"pytorchReplicaSpecs": {"Master": replica}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": spec}
    (made,) = convert([job]).documents
    values = {item["name"]: item.get("value") for item in made["spec"]["trainer"]["env"]}
    assert values["ME"] == "5 of $$(RANK)"
    env[0] = {"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    told = [finding.why for finding in convert([job]).findings if finding.verdict == "behaves differently"]
    assert any("$(RANK) was what RANK is" in why for why in told)
