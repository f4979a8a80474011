"""The system ConfigMaps: shell that tells a training script where it stands among the others.

One of each kind in every namespace that has such jobs; it outlives them. `VERSION` grows with each change of
a script: an older one is brought up to date, a newer one is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from trainshed.kube.objects import Object

FOLDER = "/shared"
VERSION = 1
VERSION_ANNOTATION = "trainshed.dev/version"
MANAGED_BY = "app.kubernetes.io/managed-by"

_PYTORCH = """\
# To be sourced: what torchrun would tell each of its processes, for one process on each node.
export RANK="${PET_NODE_RANK:-0}"
export WORLD_SIZE="${PET_NNODES:-1}"
export MASTER_ADDR="${PET_MASTER_ADDR:-127.0.0.1}"
export MASTER_PORT="${PET_MASTER_PORT:-29500}"
export LOCAL_RANK=0
export LOCAL_WORLD_SIZE=1
echo "[setup] node $RANK of $WORLD_SIZE, master $MASTER_ADDR:$MASTER_PORT"
"""
_TENSORFLOW = """\
# To be sourced: TF_CONFIG for as many workers as PET_NNODES says, this one being JOB_COMPLETION_INDEX.
TF_CONFIG=$(
  job="${JOBSET_NAME:-$(hostname | sed 's/-node-0-[0-9]*$//')}"
  workers= index=0
  while [ "$index" -lt "${PET_NNODES:-1}" ]; do
    workers="$workers${workers:+,}\\"$job-node-0-$index.$job:${TF_PORT:-2222}\\""
    index=$((index + 1))
  done
  task="{\\"type\\":\\"worker\\",\\"index\\":${JOB_COMPLETION_INDEX:-0}}"
  printf '{"cluster":{"worker":[%s]},"task":%s}' "$workers" "$task"
)
export TF_CONFIG
echo "[setup] TF_CONFIG=$TF_CONFIG"
"""


@dataclass(frozen=True, slots=True)
class Script:
    config_map: str
    file: str
    content: str

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.file}"


PYTORCH = Script("pytorch-pet-setup", "setup_pytorch_env.sh", _PYTORCH)
TENSORFLOW = Script("tensorflow-tf-config-generator", "generate_tf_config.sh", _TENSORFLOW)


def config_map(script: Script) -> Object:
    meta: Object = {
        "name": script.config_map,
        "labels": {MANAGED_BY: "trainshed"},
        "annotations": {VERSION_ANNOTATION: str(VERSION)},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {script.file: script.content}}
