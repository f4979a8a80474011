"""Elastic PyTorch: between `minNodes` and `maxNodes` nodes train together, whoever of them is there.

v2.1 accepted `torch.elasticPolicy` and ignored it. Here every node gets a pod, the job starts as soon as
the fewest can, torchrun's own rendezvous decides who takes part, and the job is complete when node 0 is: it
holds the meeting point, so nothing ends well without it, and its torchrun leaves only when all have trained.
"""

from __future__ import annotations

from typing import NamedTuple

from trainshed.controllers.trainjob import upserts
from trainshed.controllers.trainjob.draft import Draft, pod_template, set_count
from trainshed.controllers.trainjob.plugins import processes
from trainshed.controllers.trainjob.plugins.plugin import PORT, Plugin, first_node
from trainshed.kinds.core.environment import variable
from trainshed.kinds.reading import child, mapping, number
from trainshed.kinds.scheduling import gangs
from trainshed.kube.objects import Object, plant

SETTINGS = "last_call_timeout=5,keep_alive_interval=2,keep_alive_max_attempt=3"
"""torchrun waits 30 s for late nodes and takes 15 s to miss a lost one; on one machine both come sooner."""
ANEW = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""Each round has a store of its own then: in one they share, peers find addresses of the round before."""


class Bounds(NamedTuple):
    fewest: int
    most: int


def applies(draft: Draft) -> bool:
    return isinstance((draft.policy("torch") or {}).get("elasticPolicy"), dict) and bool(draft.trainer_job)


def enforce(draft: Draft) -> None:
    job, node, found = draft.trainer_job, draft.node, bounds(draft)
    if job is None or node is None:
        return
    set_count(job, found.most)
    plant(job, "Indexed", "template", "spec", "completionMode")
    plant(job, {"rules": [{"succeededIndexes": "0"}]}, "template", "spec", "successPolicy")
    metadata = child(pod_template(job), "metadata")
    metadata["annotations"] = {**mapping(metadata, "annotations"), gangs.MINIMUM: str(found.fewest)}
    upserts.environment(node, *_variables(draft, found))
    upserts.port(node, PORT)


def bounds(draft: Draft) -> Bounds:
    """The policy's; a TrainJob that says how many nodes it wants lowers or raises the upper one."""
    policy = mapping(draft.policy("torch"), "elasticPolicy")
    fewest = max(1, number(policy, "minNodes") or 1)
    most = draft.nodes if draft.nodes is not None else number(policy, "maxNodes")
    most = max(1, fewest if most is None else most)
    return Bounds(min(fewest, most), most)


def _variables(draft: Draft, found: Bounds) -> list[Object]:
    restarts = number(draft.policy("torch"), "elasticPolicy", "maxRestarts")
    many = [variable("PET_MAX_RESTARTS", restarts)] if restarts is not None else []
    return [
        variable("PET_NNODES", f"{found.fewest}:{found.most}"),
        variable("PET_NPROC_PER_NODE", processes.per_node(draft.job, draft.runtime)),
        variable("PET_RDZV_BACKEND", "c10d"),
        variable("PET_RDZV_ENDPOINT", f"{first_node(draft)}:{PORT}"),
        variable("PET_RDZV_ID", draft.name),
        variable("PET_RDZV_CONF", SETTINGS),
        variable(ANEW, 1),
        *many,
    ]


PLUGIN = Plugin("elastic torch", applies, enforce)
