"""XGBoostJob, MXJob, MPIJob: one type speaks for the job, and any pod that fails ends it.

Under ExitCode the pod was told apart before; it is replaced.
"""

from __future__ import annotations

from typing import Final

from trainshed.controllers.v1jobs.judging.standing import Group, Standing
from trainshed.controllers.v1jobs.status import Draft
from trainshed.kinds.kubeflow.families import MPI, MXNET, XGBOOST

_SPEAKERS: Final = {XGBOOST.kind: "Master", MXNET.kind: "Scheduler", MPI.kind: "Launcher"}


def judge(draft: Draft, standing: Standing) -> None:
    for group in standing:
        if _speaks(draft, group, standing) and _judge_speaker(draft, group):
            return
        if group.count.failed:
            _judge_failure(draft, group)


def _speaks(draft: Draft, group: Group, standing: Standing) -> bool:
    if group.replica.type == _SPEAKERS[draft.family.kind]:
        return True
    return draft.family is MXNET and _is_alone(standing)


def _is_alone(standing: Standing) -> bool:
    """One worker without scheduler and servers trains for itself."""
    numbers = {group.replica.type: group.replica.count for group in standing}
    return numbers.get("Worker") == 1 and not numbers.get("Scheduler") and not numbers.get("Server")


def _judge_speaker(draft: Draft, group: Group) -> bool:
    """Whether the job is over."""
    # XGBoostJobs have always been running before they end, however short that was.
    if group.count.active or (draft.family is XGBOOST and group.is_complete):
        draft.run(_running(draft))
    if group.is_complete:
        draft.succeed(f"{draft.family.kind} {draft.name} is successfully completed.")
    return group.is_complete


def _judge_failure(draft: Draft, group: Group) -> None:
    if draft.family is XGBOOST:
        draft.run(_running(draft))
    kind = draft.family.singular if draft.family is MXNET else draft.family.kind
    what = f"because {group.count.failed} {group.replica.type} replica(s) failed."
    if group.replica.policy == "ExitCode" or _is_replaced(group):
        draft.restart(f"{kind} {draft.name} is restarting {what}", group.whom)
    else:
        draft.fail(f"{kind} {draft.name} is failed {what}")


def _is_replaced(group: Group) -> bool:
    """Were pods merely deleted, of a type that is to be started again? Upstream fails the job."""
    return not group.count.crashed and group.replica.policy != "Never"


def _running(draft: Draft) -> str:
    return f"{draft.family.kind} {draft.name} is running."
