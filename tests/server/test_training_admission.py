"""The training kinds as users meet them: real manifests, the real kubectl, a real server."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator

import pytest
import yaml

from tests.conftest import Kubectl
from tests.pure.training_objects import (
    a_jobset,
    a_patch,
    a_replica,
    a_replicated_job,
    a_worker_template,
    an_experiment,
    an_override,
)
from trainshed.kube.objects import JSON, Object, plant

TRAINER = "trainer.kubeflow.org/v1alpha1"
DENIED = 'admission webhook "validator.{}.trainer.kubeflow.org" denied the request: '
T5_LARGE = r"""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: t5-large
spec:
  podTemplateOverrides:
    - targetJobs:
        - name: node
      spec:
        nodeSelector:
          node.kubernetes.io/instance-type: g6e.48xlarge
          topology.kubernetes.io/zone: ap-northeast-2a
        containers:
          - name: node
            volumeMounts:
              - mountPath: /dev/shm
                name: dshm
        volumes:
          - name: dshm
            emptyDir:
              medium: Memory
              sizeLimit: "64Gi"
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 2
    numProcPerNode: auto
    image: public.ecr.aws/deep-learning-containers/pytorch-training:2.8.0-gpu-py312-cu129-ubuntu22.04-ec2-v1.0
    command:
      - /bin/bash
      - -c
      - |
        export MASTER_ADDR=${PET_MASTER_ADDR}
        export MASTER_PORT=${PET_MASTER_PORT:-29500}
        torchrun \
          --nproc_per_node=8 \
          --rdzv_endpoint=${MASTER_ADDR}:${MASTER_PORT} \
          t5-fsdp.py --model_id="google-t5/t5-large" --epochs=10
    resourcesPerNode:
      limits:
        nvidia.com/gpu: "8"
      requests:
        nvidia.com/gpu: "8"
"""
PYTORCH_SIMPLE = """
apiVersion: "kubeflow.org/v1"
kind: PyTorchJob
metadata:
  name: pytorch-simple
  namespace: kubeflow
spec:
  pytorchReplicaSpecs:
    Master: &replica
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727
              imagePullPolicy: Always
              command: ["python3", "/opt/pytorch-mnist/mnist.py", "--epochs=1"]
          restartPolicy: Never
    Worker: *replica
"""


class Namespace:
    """A namespace of a test's own, reached with kubectl."""

    def __init__(self, kubectl: Kubectl, name: str) -> None:
        self._kubectl, self.name = kubectl, name

    def apply(self, obj: Object) -> str:
        """What kubectl prints on its second stream: warnings."""
        return self._kubectl("apply", "-n", self.name, "-f", "-", input=json.dumps(obj)).stderr

    def refused(self, obj: Object) -> str:
        return self._kubectl("apply", "-n", self.name, "-f", "-", input=json.dumps(obj), fails=True).stderr

    def patch(self, resource: str, name: str, spec: Object, *, fails: bool = False) -> str:
        change = ("--type=merge", "-p", json.dumps({"spec": spec}))
        return self._kubectl("patch", "-n", self.name, resource, name, *change, fails=fails).stderr

    def get(self, resource: str, name: str) -> Object:
        found: Object = json.loads(self._kubectl("get", "-n", self.name, resource, name, "-o", "json").stdout)
        return found


@pytest.fixture
def home(kubectl: Kubectl) -> Iterator[Namespace]:
    name = f"training-{secrets.token_hex(4)}"
    kubectl("create", "namespace", name)
    yield Namespace(kubectl, name)
    kubectl("delete", "namespace", name, "--wait=false")


def named(kind: str, obj: Object, api: str = TRAINER, name: str = "x", **labels: str) -> Object:
    return {**obj, "apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": labels}}


def a_trainjob(runtime: str = "torch-distributed", /, **spec: JSON) -> Object:
    return named("TrainJob", {"spec": {"runtimeRef": {"name": runtime}, **spec}})


# --- TrainJobs --------------------------------------------------------------------------------------------


def test_the_manifest_of_the_older_dialect_is_taken_with_a_warning_for_each_old_field(
    kubectl: Kubectl, home: Namespace
) -> None:
    done = kubectl("apply", "-n", home.name, "-f", "-", input=T5_LARGE)
    assert done.stdout == "trainjob.trainer.kubeflow.org/t5-large created\n"
    assert done.stderr.splitlines() == [
        "Warning: spec.podTemplateOverrides: replaced in Trainer v2.2 by "
        "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs",
        'Warning: spec.trainer.numProcPerNode: the word "auto" was replaced in Trainer '
        "v2.2; give a number, or "
        "leave the field out to have it chosen by the resources",
    ]
    spec = home.get("trainjob", "t5-large")["spec"]
    assert spec["trainer"]["numProcPerNode"] == "auto"
    assert spec["managedBy"] == "trainer.kubeflow.org/trainjob-controller"


def test_the_newer_dialect_is_taken_in_silence_and_its_patches_get_a_time(home: Namespace) -> None:
    job = a_trainjob(runtimePatches=[a_patch(nodeSelector={"a": "b"})], trainer={"numProcPerNode": 2})
    assert home.apply(job) == ""
    time = home.get("trainjob", "x")["spec"]["runtimePatches"][0]["time"]
    assert time.endswith("Z")
    assert home.apply(job | {"metadata": {"name": "x", "labels": {"a": "b"}}}) == ""
    assert home.get("trainjob", "x")["spec"]["runtimePatches"][0]["time"] == time


def test_an_unknown_runtime_is_refused_in_upstream_s_words(home: Namespace) -> None:
    reference = '{"name":"none","apiGroup":"trainer.kubeflow.org","kind":"ClusterTrainingRuntime"}'
    missing = 'ClusterTrainingRuntime.trainer.kubeflow.org "none" not found'
    assert home.refused(a_trainjob("none")) == (
        'Error from server (Forbidden): error when creating "STDIN": '
        + DENIED.format("trainjob")
        + f"spec.RuntimeRef: Invalid value: {reference}: {missing}: "
        "specified clusterTrainingRuntime must be created before the TrainJob is created\n"
    )


def test_an_unknown_kind_of_runtime_is_refused(home: Namespace) -> None:
    job = a_trainjob()
    job["spec"]["runtimeRef"]["kind"] = "Recipe"
    assert "denied the request: unsupported runtime: Recipe.trainer.kubeflow.org" in home.refused(job)


def test_a_runtime_of_the_own_namespace_is_found(home: Namespace) -> None:
    jobs = [a_replicated_job(containers=[{"name": "node", "image": "i"}], ancestor="trainer")]
    template = {"template": {"spec": {"replicatedJobs": jobs}}}
    job = a_trainjob("mine")
    job["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
    assert "specified trainingRuntime must be created before" in home.refused(job)
    home.apply(named("TrainingRuntime", {"spec": template}, name="mine"))
    home.apply(job)


def test_a_wrong_container_is_refused_with_the_names_there_are(home: Namespace) -> None:
    override = an_override(containers=[{"name": "trainer"}])
    said = home.refused(a_trainjob(podTemplateOverrides=[override]))
    assert DENIED.format("trainjob") + "spec.podTemplateOverrides: Invalid value: [" in said
    assert (
        "must not have container that doesn't exist in the runtime job node: "
        'container "trainer" in podTemplateOverrides does not exist in the runtime; it has "node"' in said
    )


def test_reserved_environment_is_refused(home: Namespace) -> None:
    env = [{"name": "PET_NNODES", "value": "2"}, {"name": "PET_MASTER_ADDR", "value": "me"}]
    said = home.refused(a_trainjob(trainer={"env": env}))
    assert "must not have reserved envs, invalid envs configured: [PET_MASTER_ADDR PET_NNODES]" in said


def test_what_the_schema_refuses_is_invalid_before_any_webhook_looks(home: Namespace) -> None:
    job = a_trainjob("none", managedBy="me")
    said = home.refused(job)
    assert said.startswith(
        'The TrainJob "x" is invalid: spec.managedBy: Invalid value: "string": ManagedBy must be'
    )
    assert "denied the request" not in said


def test_a_trainjob_keeps_its_trainer_and_changes_its_patches_only_while_suspended(home: Namespace) -> None:
    home.apply(a_trainjob(trainer={"image": "one"}, runtimePatches=[a_patch(nodeSelector={"a": "1"})]))
    said = home.patch("trainjob", "x", {"trainer": {"image": "two"}}, fails=True)
    assert 'The TrainJob "x" is invalid: spec.trainer: Invalid value: "object": field is immutable' in said
    patches = {"runtimePatches": [a_patch(nodeSelector={"a": "2"})]}
    said = home.patch("trainjob", "x", patches, fails=True)
    assert (
        "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
        in said
    )
    home.patch("trainjob", "x", {"suspend": True})
    home.patch("trainjob", "x", {**patches, "suspend": False})


def test_a_trainjob_outlives_its_runtime(kubectl: Kubectl, home: Namespace) -> None:
    jobs = [a_replicated_job(containers=[{"name": "node", "image": "i"}], ancestor="trainer")]
    home.apply(
        named("TrainingRuntime", {"spec": {"template": {"spec": {"replicatedJobs": jobs}}}}, name="mine")
    )
    job = a_trainjob("mine")
    job["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
    home.apply(job)
    runtime = home.get("trainingruntime", "mine")
    kubectl("delete", "-n", home.name, "trainingruntime", "mine")
    kubectl("label", "-n", home.name, "trainjob", "x", "still=labelled")
    assert "must be created before" in home.patch("trainjob", "x", {"suspend": True}, fails=True)
    found = home.get("trainjob", "x")
    owner = {key: found[key] for key in ("apiVersion", "kind")} | {
        "name": "x",
        "uid": found["metadata"]["uid"],
    }
    snapshot = {"data": {"runtime": json.dumps(runtime)}}
    config = named("ConfigMap", snapshot, "v1", "x-runtime-snapshot")
    plant(config, [owner], "metadata", "ownerReferences")
    home.apply(config)
    home.patch("trainjob", "x", {"suspend": True})


def test_deprecated_runtimes_warn_who_creates_and_who_uses_them(kubectl: Kubectl, home: Namespace) -> None:
    jobs = [a_replicated_job(containers=[{"name": "node", "image": "i"}], ancestor="trainer")]
    spec = {"spec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    runtime = named("ClusterTrainingRuntime", spec, name=home.name)
    runtime["metadata"]["labels"] = {"trainer.kubeflow.org/support": "deprecated"}
    subject = f'ClusterTrainingRuntime "{home.name}" is deprecated and will be removed in a future release'
    assert home.apply(runtime).startswith(f"Warning: {subject}")
    assert home.apply(a_trainjob(home.name)).startswith(f"Warning: Referenced {subject}")
    kubectl("delete", "clustertrainingruntime", home.name)


def test_a_runtime_that_cannot_work_is_refused(home: Namespace) -> None:
    jobs = [a_replicated_job(containers=[{"name": "x", "image": "i"}], ancestor="trainer", replicas=2)]
    runtime = named("ClusterTrainingRuntime", {"spec": {"template": {"spec": {"replicatedJobs": jobs}}}})
    said = home.refused(runtime)
    field = "spec.template.spec.replicatedJobs[0]"
    assert (
        DENIED.format("clustertrainingruntime") + f"[{field}.replicas: Invalid value: 2: always must be 1, "
        in said
    )
    assert "must contain the required container for the ancestor: trainer]" in said


# --- JobSets ----------------------------------------------------------------------------------------------


def a_stored_jobset(name: str = "js", **spec: JSON) -> Object:
    worker = a_replicated_job("workers", [{"name": "main", "image": "i"}])
    return named("JobSet", {"spec": {"replicatedJobs": [worker], **spec}}, "jobset.x-k8s.io/v1alpha2", name)


def test_a_jobset_shows_its_defaults(home: Namespace) -> None:
    home.apply(a_stored_jobset(failurePolicy={"maxRestarts": 1, "rules": [{"action": "FailJobSet"}]}))
    spec = home.get("jobset", "js")["spec"]
    assert spec["successPolicy"] == {"operator": "All"}
    assert spec["startupPolicy"] == {"startupPolicyOrder": "AnyOrder"}
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert spec["failurePolicy"]["rules"] == [{"action": "FailJobSet", "name": "failurePolicyRule0"}]
    [job] = spec["replicatedJobs"]
    assert (job["replicas"], job["groupName"]) == (1, "default")
    assert job["template"]["spec"]["completionMode"] == "Indexed"
    assert job["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_a_jobset_with_a_long_name_is_invalid(home: Namespace) -> None:
    said = home.refused(a_stored_jobset("x" * 56))
    assert said.startswith(
        f'The JobSet "{"x" * 56}" is invalid: spec.replicatedJobs[0].name: Invalid value: '
    )
    assert "JobSet name is too long, job names generated for this JobSet will exceed 63 characters" in said


def test_pods_of_a_jobset_are_placed_anew_only_while_it_is_suspended(home: Namespace) -> None:
    home.apply(a_stored_jobset())
    job = home.get("jobset", "js")["spec"]["replicatedJobs"][0]
    plant(job, {"zone": "a"}, "template", "spec", "template", "spec", "nodeSelector")
    assert "field is immutable" in home.patch("jobset", "js", {"replicatedJobs": [job]}, fails=True)
    home.patch("jobset", "js", {"replicatedJobs": [job], "suspend": True})


def test_the_jobset_of_the_pure_tests_is_a_real_one(home: Namespace) -> None:
    worker = a_replicated_job("workers", [{"name": "main", "image": "i"}])
    home.apply(named("JobSet", a_jobset(worker), "jobset.x-k8s.io/v1alpha2"))


# --- kubeflow.org/v1 --------------------------------------------------------------------------------------


def test_the_simple_pytorch_job_is_taken_as_it_is(kubectl: Kubectl, home: Namespace) -> None:
    written = PYTORCH_SIMPLE.replace("namespace: kubeflow", f"namespace: {home.name}")
    done = kubectl("apply", "-f", "-", input=written)
    assert (done.stdout, done.stderr) == ("pytorchjob.kubeflow.org/pytorch-simple created\n", "")
    stored = home.get("pytorchjob", "pytorch-simple")["spec"]
    assert stored.pop("runPolicy") == {"suspend": False}, "the SDK cannot read jobs without one"
    assert stored == yaml.safe_load(written)["spec"]


def test_a_pytorch_job_without_its_container_is_refused(home: Namespace) -> None:
    job = named(
        "PyTorchJob", {"spec": {"pytorchReplicaSpecs": {"Master": a_replica("main")}}}, "kubeflow.org/v1"
    )
    assert home.refused(job) == (
        'Error from server (Forbidden): error when creating "STDIN": admission webhook '
        '"validator.pytorchjob.training-operator.kubeflow.org" denied the request: '
        "spec.pytorchReplicaSpecs[Master].template.spec.containers: Required value: "
        "must have at least one container with name pytorch\n"
    )


# --- Experiments ------------------------------------------------------------------------------------------


def an_applied_experiment(**spec: JSON) -> Object:
    return named("Experiment", an_experiment(**spec), "kubeflow.org/v1beta1")


def test_an_experiment_shows_its_defaults(kubectl: Kubectl, home: Namespace) -> None:
    kubectl("label", "namespace", home.name, "katib.kubeflow.org/metrics-collector-injection=enabled")
    assert home.apply(an_applied_experiment()) == ""
    spec = home.get("experiment", "x")["spec"]
    assert (spec["parallelTrialCount"], spec["resumePolicy"]) == (3, "Never")
    assert spec["objective"]["metricStrategies"] == [{"name": "accuracy", "value": "max"}]
    assert spec["metricsCollectorSpec"] == {"collector": {"kind": "StdOut"}}
    assert (
        spec["trialTemplate"]["failureCondition"] == 'status.conditions.#(type=="Failed")#|#(status=="True")#'
    )


def test_an_experiment_in_a_namespace_without_katib_s_label_is_taken_with_a_warning(home: Namespace) -> None:
    label = "katib.kubeflow.org/metrics-collector-injection: enabled"
    assert home.apply(an_applied_experiment()) == (
        f'Warning: namespace "{home.name}" lacks label "{label}": '
        "a cluster with Katib would refuse this Experiment\n"
    )


def test_an_unknown_algorithm_is_refused_without_a_reason_as_katib_does(home: Namespace) -> None:
    said = home.refused(an_applied_experiment(algorithm={"algorithmName": "magic"}))
    assert (
        'Error from server: error when creating "STDIN": admission webhook '
        '"validator.experiment.katib.kubeflow.org" denied the request: '
        'spec.algorithm.algorithmName: Invalid value: "magic": ' in said
    )


def test_only_counts_of_an_experiment_may_change(home: Namespace) -> None:
    home.apply(an_applied_experiment())
    home.patch("experiment", "x", {"maxTrialCount": 20})
    said = home.patch("experiment", "x", {"algorithm": {"algorithmName": "tpe"}}, fails=True)
    assert (
        "spec: Forbidden: only spec.parallelTrialCount, spec.maxTrialCount and spec.maxFailedTrialCount"
        in said
    )


def test_a_trial_s_job_with_an_unknown_field_is_refused(home: Namespace) -> None:
    worker = a_worker_template()
    plant(worker, 1, "spec", "parallelisms")
    experiment = an_applied_experiment()
    plant(experiment, worker, "spec", "trialTemplate", "trialSpec")
    said = home.refused(experiment)
    assert "invalid spec.trialTemplate: unable to convert: spec.parallelisms to Job" in said
