"""XGBoost: what its collective communicator reads; one worker per GPU, or per node without any."""

from __future__ import annotations

from trainshed.controllers.trainjob import upserts
from trainshed.controllers.trainjob.draft import Draft, count
from trainshed.controllers.trainjob.plugins.plugin import PORT, Plugin, first_node
from trainshed.kinds.core.environment import variable
from trainshed.kinds.trainer import devices


def applies(draft: Draft) -> bool:
    return draft.policy("xgboost") is not None


def enforce(draft: Draft) -> None:
    node, job = draft.node, draft.trainer_job
    if node is None or job is None or draft.trainer is None:
        return
    workers = count(job) * (devices.gpus(devices.resources(draft.job, draft.runtime)) or 1)
    upserts.environment(
        node,
        variable("DMLC_TRACKER_URI", first_node(draft)),
        variable("DMLC_TRACKER_PORT", PORT),
        upserts.index_variable("DMLC_TASK_ID"),
        variable("DMLC_NUM_WORKER", workers),
    )
    upserts.port(node, PORT)


PLUGIN = Plugin("xgboost", applies, enforce)
