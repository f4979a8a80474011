"""Runtimes as platforms write them on top of Trainer: code from git, TF_CONFIG in a file, finished jobs go.

The scripts need no more than a POSIX shell and git, so they also run where an image is the local machine.
"""

from __future__ import annotations

from trainshed.kinds.trainer import git_clone
from trainshed.kinds.trainer.runtime_parts import cluster_runtime, replicated_job
from trainshed.kube.objects import Object, plant

_PYTORCH = "pytorch/pytorch:2.2.2-cuda11.8-cudnn8-runtime"
_TENSORFLOW = "tensorflow/tensorflow:2.15.0-gpu"
_SMALL = {"requests": {"cpu": "100m", "memory": "128Mi"}}
_MINUTES_5 = 300

_TF_CONFIG = """\
set -e
workers= index=0
while [ "$index" -lt "${NUM_WORKERS:-1}" ]; do
  address="$JOBSET_NAME-node-0-$index.$JOBSET_NAME.$NAMESPACE.svc.cluster.local:${TF_PORT:-2222}"
  workers="$workers${workers:+,}\\"$address\\""
  index=$((index + 1))
done
task="{\\"type\\":\\"worker\\",\\"index\\":${JOB_COMPLETION_INDEX:-0}}"
config="{\\"cluster\\":{\\"worker\\":[$workers]},\\"task\\":$task}"
printf "export TF_CONFIG='%s'\\n" "$config" | tee /shared-env/tf_config.env
"""


def manifests() -> list[Object]:
    clone, files = _git_clone(), _scratch("git-clone-volume")
    config, shared = _tf_config(), _scratch("shared-env")
    mount = [{"name": "shared-env", "mountPath": "/shared-env"}]
    return [
        _runtime("pytorch-runtime", "pytorch", _PYTORCH, {}, [files], [clone], ttl=_MINUTES_5),
        _runtime("pytorch-simple", "pytorch", _PYTORCH),
        _runtime(
            "tensorflow-runtime", "tensorflow", _TENSORFLOW, {"volumeMounts": mount}, [shared, files],
            [config, clone], ttl=_MINUTES_5,
        ),
        _runtime("tensorflow-distributed", "tensorflow", _TENSORFLOW),
    ]  # fmt: skip


def _runtime(
    name: str,
    framework: str,
    image: str,
    container: Object | None = None,
    volumes: list[Object] | None = None,
    before: list[Object] | None = None,
    ttl: int | None = None,
) -> Object:
    """One job; PyTorch by its policy, TensorFlow by its label."""
    variables = [{"name": "PYTHONUNBUFFERED", "value": "1"}]
    if framework == "tensorflow":
        variables.append(_field("NAMESPACE", "metadata.namespace"))
    node = {"name": "node", "image": image, **(container or {}), "env": variables}
    pod = {"volumes": volumes, "initContainers": before} if volumes else {}
    job = replicated_job("node", node, ancestor="trainer", pod=pod)
    if ttl is not None:
        plant(job, ttl, "template", "spec", "ttlSecondsAfterFinished")
    template = {"successPolicy": {"operator": "All"}, "replicatedJobs": [job]}
    policy: Object = {"torch": {}} if framework == "pytorch" else {}
    return cluster_runtime(name, framework, policy, template)


def _git_clone() -> Object:
    settings = {"GIT_SYNC_REPO": "", "GIT_SYNC_BRANCH": "", "GIT_SYNC_ROOT": "/git"}
    return {
        "name": "git-clone",
        "image": "alpine/git:v2.36.2",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", git_clone.SCRIPT],
        "env": [{"name": name, "value": value} for name, value in settings.items()],
        "resources": _SMALL,
        "volumeMounts": [{"name": "git-clone-volume", "mountPath": "/git"}],
    }


def _tf_config() -> Object:
    return {
        "name": "tf-config-generator",
        "image": "busybox:latest",
        "command": ["sh", "-c", _TF_CONFIG],
        "env": [
            _field("NAMESPACE", "metadata.namespace"),
            _field("JOBSET_NAME", "metadata.labels['jobset.sigs.k8s.io/jobset-name']"),
        ],
        "resources": _SMALL,
        "volumeMounts": [{"name": "shared-env", "mountPath": "/shared-env"}],
    }


def _scratch(name: str) -> Object:
    return {"name": name, "emptyDir": {}}


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
