"""TensorFlow: TF_CONFIG from the topology, for runtimes that say they are of this framework.

Upstream has no such plugin any more; its users write a script that makes the variable from the host name.
"""

from __future__ import annotations

import json

from trainshed.controllers.trainjob import upserts
from trainshed.controllers.trainjob.draft import Draft, count
from trainshed.controllers.trainjob.plugins import plain
from trainshed.controllers.trainjob.plugins.plugin import Plugin
from trainshed.kinds.core.environment import variable
from trainshed.kinds.reading import entries
from trainshed.kinds.trainer import templates
from trainshed.kinds.trainer.runtimes import FRAMEWORK
from trainshed.kube.objects import Object, text

PORT = 2222
INDEX = "JOB_COMPLETION_INDEX"
WORKERS = "NUM_WORKERS"


def applies(draft: Draft) -> bool:
    framework = text(draft.runtime, "metadata", "labels", FRAMEWORK)
    return framework == "tensorflow" and plain.applies(draft) and draft.policy("xgboost") is None


def enforce(draft: Draft) -> None:
    node, job = draft.node, draft.trainer_job
    if node is None or job is None:
        return
    if not _has(node, "TF_CONFIG"):
        # Only variables further up in the list can be referred to, and the Job controller adds this one last.
        upserts.environment(node, *([] if _has(node, INDEX) else [upserts.index_variable(INDEX)]))
        upserts.environment(node, variable("TF_CONFIG", _config(draft.name, count(job))))
        upserts.port(node, PORT)
    for container in [*entries(templates.pod(job), "initContainers"), node]:
        if not _has(container, WORKERS):
            upserts.environment(container, variable(WORKERS, count(job)))


def _config(name: str, workers: int) -> str:
    """JSON whose task index the kubelet fills in."""
    addresses = [f"{name}-node-0-{index}.{name}:{PORT}" for index in range(workers)]
    cluster = json.dumps({"worker": addresses}, separators=(",", ":"))
    return f'{{"cluster":{cluster},"task":{{"type":"worker","index":$({INDEX})}}}}'


def _has(container: Object, name: str) -> bool:
    return any(text(variable, "name") == name for variable in entries(container, "env"))


PLUGIN = Plugin("tensorflow", applies, enforce)
