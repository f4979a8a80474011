"""JAX: what `jax.distributed.initialize()` reads."""

from __future__ import annotations

from trainshed.controllers.trainjob import upserts
from trainshed.controllers.trainjob.draft import Draft, count
from trainshed.controllers.trainjob.plugins.plugin import PORT, Plugin, first_node
from trainshed.kinds.core.environment import variable


def applies(draft: Draft) -> bool:
    return draft.policy("jax") is not None


def enforce(draft: Draft) -> None:
    node, job = draft.node, draft.trainer_job
    if node is None or job is None or draft.trainer is None:
        return
    upserts.environment(
        node,
        variable("JAX_NUM_PROCESSES", count(job)),
        upserts.index_variable("JAX_PROCESS_ID"),
        variable("JAX_COORDINATOR_ADDRESS", f"{first_node(draft)}:{PORT}"),
    )
    upserts.port(node, PORT)


PLUGIN = Plugin("jax", applies, enforce)
