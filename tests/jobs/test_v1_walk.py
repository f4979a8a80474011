"""The walks of the manuals for kubeflow.org/v1 with the real kubectl, and what the policies in them mean."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import whole
from tests.whole import EXAMPLES, Whole
from trainshed.kube import conditions
from trainshed.kube.objects import Object, dig

OVERLAYS = EXAMPLES / "11-pytorchjob" / "kustomize" / "overlays"
SIMPLE = EXAMPLES / "13-program-in-image"
SLOW = pytest.mark.timeout(300)
"""Six processes that import torch; on a busy machine that takes its time."""
LONG_SECONDS = 240.0
JOB = "training.kubeflow.org/job-name"
MAPPED = "docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727"
IMAGES = f"""
[images."docker.io/kubeflowkatib/pytorch-mnist:*".contents]
"/opt/pytorch-mnist" = "{SIMPLE}/pytorch-mnist"
"""

SMALLER = """
[[nodes]]
name = "gpu-c"
cpu = 8
memory = "16Gi"
gpus = 2
labels = { "karpenter.sh/nodepool" = "gpu", "node.kubernetes.io/instance-type" = "g6.12xlarge" }
taints = ["nvidia.com/gpu=true:NoSchedule"]
"""
"""A node like the one on which all ranks have room, but without room for all."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A Trainshed with the nodes of one example and the image of another."""
    folder = tmp_path_factory.mktemp("cloud")
    nodes = (EXAMPLES / "11-pytorchjob" / "nodes.toml").read_text()
    (folder / "config.toml").write_text(nodes + SMALLER + IMAGES)
    with whole.running(folder, "--config", str(folder / "config.toml")) as found:
        yield found


def a_pytorchjob(
    name: str, script: str, *, workers: int = 0, policy: str = "OnFailure", **more: object
) -> Object:
    """A job of one shell script on all its pods; `more` is for the run policy, the image and its pulling."""
    container = {"name": "pytorch", "image": more.pop("image", "any"), "command": ["bash", "-c", script]}
    if pull := more.pop("pull", ""):
        container["imagePullPolicy"] = pull
    spec: Object = {"containers": [container]}
    if shared := more.pop("shared", None):
        spec["volumes"] = [{"name": "shared", "hostPath": {"path": str(shared)}}]
        container["volumeMounts"] = [{"name": "shared", "mountPath": "/shared"}]
    replicas = {"Master": {"replicas": 1}, **({"Worker": {"replicas": workers}} if workers else {})}
    for replica in replicas.values():
        replica |= {"restartPolicy": policy, "template": {"spec": spec}}  # type: ignore[dict-item]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": more, "pytorchReplicaSpecs": replicas},
    }


def finish(shed: Whole, name: str, condition: str = "Succeeded", namespace: str = "default") -> None:
    words = ("wait", f"--for=condition={condition}", f"pytorchjob/{name}", "-n", namespace)
    ran = shed.run("kubectl", *words, f"--timeout={LONG_SECONDS:.0f}s", seconds=LONG_SECONDS + 10)
    assert ran.code == 0, f"{ran.err}\n{shed.trainshed('describe', name, '-n', namespace).out}\n{shed.logs()}"


def until(look: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def phases(shed: Whole, name: str) -> dict[str, str]:
    """The pods of a job that are there to stay, and their phases."""
    pods = shed.list("pods", f"{JOB}={name}")
    return {
        pod["metadata"]["name"].removeprefix(f"{name}-"): pod["status"].get("phase", "")
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
    }


def status_of(shed: Whole, pod: str) -> Object:
    found: list[Object] = dig(shed.get("pod", pod), "status", "containerStatuses") or [{}]
    return found[0]


# --- the walk with kustomize --------------------------------------------------------------------------------


def test_get_crd_lists_the_kinds(cloud: Whole) -> None:
    listed = [line.split()[0] for line in cloud.kubectl("get", "crd").splitlines() if "kubeflow.org" in line]
    names = ("mpijobs", "mxjobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs", "jaxjobs")
    assert {f"{name}.kubeflow.org" for name in names} <= set(listed)
    assert "pytorchjobs.kubeflow.org" in cloud.kubectl("get", "crd", "pytorchjobs.kubeflow.org")


@SLOW
def test_the_walk_with_an_overlay_from_namespace_to_deletion(cloud: Whole) -> None:
    cloud.kubectl("create", "ns", "pytorch")
    said = cloud.kubectl("apply", "-k", f"{OVERLAYS}/ddp/")
    assert "pytorchjob.kubeflow.org/pytorch-dist-job created" in said
    names = [f"pytorch-dist-job-{one}" for one in ("master-0", "worker-0", "worker-1")]
    until(lambda: pods_of(cloud, "pytorch") == names, "three pods")
    for name in names:
        described = cloud.kubectl("describe", "pod", name, "-n", "pytorch")
        assert "Controlled By: PyTorchJob/pytorch-dist-job" in " ".join(described.split())
        assert "karpenter.sh/nodepool=gpu" in described
    cloud.kubectl("wait", "--for=condition=Ready", "pod", "--all", "-n", "pytorch", "--timeout=60s")
    with ThreadPoolExecutor() as pool:  # the workers may be gone when the master is done
        logs = pool.map(
            lambda name: cloud.kubectl("logs", "-f", name, "-n", "pytorch", seconds=LONG_SECONDS), names
        )
    for rank, (name, said) in enumerate(zip(names, logs, strict=True)):
        assert f"rank {rank} of 3 on {name}" in said
    finish(cloud, "pytorch-dist-job", namespace="pytorch")
    assert "epoch 3/3 loss" in cloud.kubectl("logs", names[0], "-n", "pytorch")
    assert cloud.kubectl("get", "pytorchjob", "-n", "pytorch").split()[3:5] == [
        "pytorch-dist-job",
        "Succeeded",
    ]
    cloud.kubectl("delete", "pytorchjob", "pytorch-dist-job", "-n", "pytorch")
    cloud.kubectl("wait", "--for=delete", "pods", "--all", "-n", "pytorch", "--timeout=30s")
    assert cloud.kubectl("get", "services", "-n", "pytorch", "-o", "name") == ""
    cloud.kubectl("delete", "ns", "pytorch")


def pods_of(shed: Whole, namespace: str) -> list[str]:
    return [
        name.removeprefix("pod/")
        for name in shed.kubectl("get", "pods", "-n", namespace, "-o", "name").split()
    ]


def nodes_of(shed: Whole, namespace: str) -> list[str]:
    pods = json.loads(shed.kubectl("get", "pods", "-n", namespace, "-o", "json"))["items"]
    return [pod["spec"].get("nodeName", "") for pod in pods]


@SLOW
def test_an_overlay_keeps_all_ranks_on_one_node_and_shards_the_model(cloud: Whole) -> None:
    namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pytorch"}})
    words = ("apply", "-f", "-", "-k", str(OVERLAYS / "fsdp"))
    applied = cloud.run(sys.executable, "-m", "trainshed", *words, stdin=namespace)
    assert (applied.code, len(applied.out.splitlines())) == (0, 3), applied
    until(
        lambda: nodes_of(cloud, "pytorch") == ["gpu-a"] * 3, "three pods on the node that has room for them"
    )
    finish(cloud, "pytorch-dist-job", namespace="pytorch")
    said = cloud.trainshed("logs", "pytorch-dist-job", "-n", "pytorch").out
    assert "[worker 1] rank 2 of 3 on pytorch-dist-job-worker-1" in said
    assert "[master 0] rank 0 holds 175 of 385 parameters" in said
    deleted = cloud.trainshed("delete", "-k", str(OVERLAYS / "fsdp"))
    assert deleted.out.splitlines() == [
        "pytorchjob.kubeflow.org/pytorch-dist-job deleted",
        "configmap/pytorch-dist-code deleted",
    ]
    cloud.kubectl("delete", "ns", "pytorch")


@SLOW
def test_a_converted_overlay_keeps_all_ranks_on_one_node_too(cloud: Whole) -> None:
    made = cloud.trainshed("convert", "-k", str(OVERLAYS / "fsdp"), "-q")
    cloud.kubectl("create", "ns", "pytorch")
    cloud.kubectl("apply", "-f", "-", stdin=made.out)
    until(lambda: nodes_of(cloud, "pytorch") == ["gpu-a"] * 3, "three pods where all have room")
    cloud.kubectl("delete", "ns", "pytorch")


# --- the policies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        (None, {"master-0": "Succeeded", "worker-0": "Succeeded", "worker-1": "Running"}),
        ("None", {"master-0": "Succeeded", "worker-0": "Succeeded", "worker-1": "Running"}),
        ("Running", {"master-0": "Succeeded", "worker-0": "Succeeded"}),
        ("All", {}),
    ],
)
def test_a_clean_pod_policy_leaves_what_it_says(
    cloud: Whole, tmp_path: Path, policy: str | None, left: dict[str, str]
) -> None:
    script = (
        "case $RANK in 0) until [ -e /shared/go ]; do sleep 0.1; done;; 1) true;; *) exec sleep 600;; esac"
    )
    more: Object = {} if policy is None else {"cleanPodPolicy": policy}
    name = f"clean-{str(policy).lower()}" if policy else "clean"
    tmp_path.chmod(0o755)
    cloud.apply(a_pytorchjob(name, script, workers=2, shared=tmp_path, **more))
    running = {"master-0": "Running", "worker-0": "Succeeded", "worker-1": "Running"}
    until(lambda: phases(cloud, name) == running, f"worker 0 done: {phases(cloud, name)}")
    (tmp_path / "go").touch()
    finish(cloud, name)
    until(lambda: phases(cloud, name) == left, f"left: {phases(cloud, name)}")
    services = [
        one["metadata"]["name"].removeprefix(f"{name}-") for one in cloud.list("services", f"{JOB}={name}")
    ]
    assert sorted(services) == sorted(left)
    cloud.kubectl("delete", "pytorchjob", name)


@SLOW
def test_an_image_with_a_program_in_it_runs(cloud: Whole) -> None:
    cloud.kubectl("apply", "-f", str(SIMPLE / "namespace.yaml"))
    cloud.kubectl("apply", "-f", str(SIMPLE / "pytorch-simple.yaml"))
    finish(cloud, "pytorch-simple", namespace="kubeflow")
    assert "rank 0: epoch 1/1 accuracy=" in cloud.kubectl("logs", "pytorch-simple-master-0", "-n", "kubeflow")
    assert "rank 1 of 2" in cloud.kubectl("logs", "pytorch-simple-worker-0", "-n", "kubeflow")
    # Of two restart policies the replica's counts, and it is said.
    pod = json.loads(cloud.kubectl("get", "pod", "pytorch-simple-master-0", "-n", "kubeflow", "-o", "json"))
    assert pod["spec"]["restartPolicy"] == "OnFailure"
    told = cloud.kubectl("describe", "pytorchjob", "pytorch-simple", "-n", "kubeflow")
    assert "SetPodTemplateRestartPolicy" in told
    cloud.kubectl("delete", "-f", str(SIMPLE / "pytorch-simple.yaml"))


@pytest.mark.parametrize("policy", ["Always", "IfNotPresent", "Never"])
def test_an_image_that_is_here_runs_whatever_the_pull_policy(cloud: Whole, policy: str) -> None:
    name = f"pull-{policy.lower()}"
    script = "ls /opt/pytorch-mnist"
    cloud.apply(a_pytorchjob(name, script, image=MAPPED, pull=policy))
    finish(cloud, name)
    assert cloud.kubectl("logs", f"{name}-master-0") == "mnist.py\n"
    told = cloud.trainshed("events", name).out
    assert f'Container image "{MAPPED}" is the local environment' in told
    assert ("nothing is pulled" in told) == (policy == "Always")


def test_an_image_that_must_be_here_and_is_not_waits_in_words(cloud: Whole) -> None:
    cloud.apply(a_pytorchjob("pull-absent", "true", image="me/unknown:1", pull="Never"))
    until(
        lambda: (
            dig(status_of(cloud, "pull-absent-master-0"), "state", "waiting", "reason") == "ErrImageNeverPull"
        ),
        "it waits",
    )
    assert "ErrImageNeverPull" in cloud.kubectl("get", "pods", "-l", f"{JOB}=pull-absent")
    told = cloud.trainshed("get", "pytorchjob/pull-absent").out
    assert (
        'waiting: Container image "me/unknown:1" is not present with pull policy of Never: name it in' in told
    )
    cloud.kubectl("delete", "pytorchjob", "pull-absent")


def test_always_starts_a_container_again_that_ended_well(cloud: Whole) -> None:
    cloud.apply(a_pytorchjob("again-always", "echo once more", policy="Always"))
    until(lambda: status_of(cloud, "again-always-master-0").get("restartCount", 0) >= 1, "a restart")
    job = cloud.get("pytorchjob", "again-always")
    assert not conditions.is_true(dig(job, "status", "conditions"), "Succeeded")
    cloud.kubectl("delete", "pytorchjob", "again-always")


def test_on_failure_starts_a_container_again_that_failed_until_it_ends_well(
    cloud: Whole, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    script = "[ -e /shared/tried ] && exit 0; touch /shared/tried; exit 3"
    cloud.apply(a_pytorchjob("again-failure", script, shared=tmp_path))
    finish(cloud, "again-failure")
    assert status_of(cloud, "again-failure-master-0")["restartCount"] == 1
    cloud.kubectl("delete", "pytorchjob", "again-failure")


def test_never_lets_the_job_fail_with_its_container(cloud: Whole) -> None:
    cloud.apply(a_pytorchjob("again-never", "echo last words; exit 3", policy="Never"))
    finish(cloud, "again-never", "Failed")
    assert status_of(cloud, "again-never-master-0")["restartCount"] == 0
    told = cloud.trainshed("logs", "-f", "again-never")
    assert (told.code, told.out) == (3, "[master 0] last words\n"), told
    cloud.kubectl("delete", "pytorchjob", "again-never")
