"""PyTorch: the PET_* variables torchrun reads its options from."""

from __future__ import annotations

from trainshed.controllers.trainjob import upserts
from trainshed.controllers.trainjob.draft import Draft, any_container, count
from trainshed.controllers.trainjob.plugins import processes, torchtune
from trainshed.controllers.trainjob.plugins.plugin import PORT, Plugin, first_node
from trainshed.controllers.trainjob.refusals import CREATION_FAILED, Refusal
from trainshed.kinds.core.environment import variable
from trainshed.kinds.reading import entries, texts
from trainshed.kube.objects import Object, text


def applies(draft: Draft) -> bool:
    return draft.policy("torch") is not None


def enforce(draft: Draft) -> None:
    node = draft.node if draft.trainer is not None else None
    if node is not None:
        upserts.environment(node, *_size(draft))
        if not torchtune.applies(draft):
            upserts.environment(node, *_master(draft))
        upserts.port(node, PORT)
    for target in _injection_targets(draft):
        upserts.environment(target, *_size(draft), *_master(draft))


def _size(draft: Draft) -> list[Object]:
    return [
        variable("PET_NNODES", count(draft.trainer_job) if draft.trainer_job else 1),
        variable("PET_NPROC_PER_NODE", processes.per_node(draft.job, draft.runtime)),
        upserts.index_variable("PET_NODE_RANK"),
    ]


def _master(draft: Draft) -> list[Object]:
    return [
        variable("PET_MASTER_ADDR", first_node(draft)),
        variable("PET_MASTER_PORT", PORT),
    ]


def _injection_targets(draft: Draft) -> list[Object]:
    """Other containers that are to know the topology, such as checks before the training."""
    found = []
    for target in entries(draft.policy("torch"), "envInjection", "targets"):
        for name in texts(target, "containerNames"):
            job = draft.job_named(text(target, "jobName"))
            container = any_container(job, name) if job is not None else None
            if container is None:
                aim = f'envInjection target podSet "{text(target, "jobName")}" container "{name}"'
                raise Refusal(CREATION_FAILED, f"{aim} not found in runtime template")
            found.append(container)
    return found


PLUGIN = Plugin("torch", applies, enforce, env_first=True)
