"""PyTorchJob, PaddleJob, JAXJob: the master speaks for the job; without one all workers do."""

from __future__ import annotations

from trainshed.controllers.v1jobs.judging.standing import Group, Standing
from trainshed.controllers.v1jobs.status import Draft
from trainshed.kinds.kubeflow.families import PYTORCH
from trainshed.kube.objects import dig


def judge(draft: Draft, standing: Standing) -> None:
    master, workers = standing.find("Master"), standing.find("Worker")
    if master is not None:
        if _judge_master(draft, master):
            return
    elif workers is not None:
        _judge_workers(draft, workers)
    for group in standing:
        _judge_failures(draft, group)


def _judge_master(draft: Draft, master: Group) -> bool:
    """Whether the job is over: what became of the workers does not matter then."""
    if master.count.active:
        draft.run(f"{draft.family.kind} {draft.name} is running.")
    if master.is_complete:
        draft.succeed(f"{draft.family.kind} {draft.name} is successfully completed.")
    return master.is_complete


def _judge_workers(draft: Draft, workers: Group) -> None:
    """Workers that come and go have nobody to wait for: with the first success the training is done."""
    who = f"{draft.family.kind} {draft.namespace}/{draft.name}"
    is_elastic = draft.family is PYTORCH and isinstance(dig(draft.job, "spec", "elasticPolicy"), dict)
    if workers.is_complete or (is_elastic and workers.count.succeeded):
        draft.succeed(f"{who} successfully completed.")
    elif workers.count.active:
        draft.run(f"{who} is running.")


def _judge_failures(draft: Draft, group: Group) -> None:
    if not group.is_short:
        return
    who = f"{draft.family.kind} {draft.name}"
    what = f"{group.count.failed} {group.replica.type} replica(s) failed."
    if group.replica.policy == "Never":
        draft.fail(f"{who} is failed because {what}")
    else:
        draft.restart(f"{who} is restarting because {what}", group.whom)
