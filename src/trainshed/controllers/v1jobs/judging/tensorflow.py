"""TFJob: the chief speaks for the job; without one worker 0 does, or all workers if the job wants it so."""

from __future__ import annotations

from typing import Final

from trainshed.controllers.v1jobs.conditions import RESTARTING
from trainshed.controllers.v1jobs.judging.standing import Group, Standing
from trainshed.controllers.v1jobs.status import Draft
from trainshed.kinds.reading import is_true
from trainshed.kube import conditions
from trainshed.kube.objects import Object, text

_ORDER: Final = ("Chief", "Evaluator", "Master", "PS", "Worker")
_CHIEFS: Final = ("Chief", "Master")


def judge(draft: Draft, standing: Standing) -> None:
    again = conditions.find(draft.conditions, RESTARTING)
    has_chief = any(standing.find(type) for type in _CHIEFS)
    for type in _ORDER:
        group = standing.find(type)
        if group is None:
            continue
        if has_chief and type in _CHIEFS:
            _judge_chief(draft, group)
        elif not has_chief and type == "Worker":
            _judge_workers(draft, group, standing.first_worker_succeeded)
        if group.count.failed:
            _judge_failure(draft, group, again)


def _judge_chief(draft: Draft, chief: Group) -> None:
    if chief.count.active:
        draft.run(f"TFJob {draft.namespace}/{draft.name} is running.")
    if chief.is_complete:
        draft.succeed(f"TFJob {draft.namespace}/{draft.name} successfully completed.")


def _judge_workers(draft: Draft, workers: Group, first_succeeded: bool) -> None:
    needs_all = text(draft.job, "spec", "successPolicy") == "AllWorkers"
    if workers.is_complete or (first_succeeded and not needs_all):
        draft.succeed(f"TFJob {draft.namespace}/{draft.name} successfully completed.")
    elif workers.count.active:
        draft.run(f"TFJob {draft.namespace}/{draft.name} is running.")


def _judge_failure(draft: Draft, group: Group, again: Object | None) -> None:
    """A job that is starting again stays so until nothing of it has failed any more."""
    what = f"because {group.count.failed} {group.replica.type} replica(s) failed."
    if again is not None:
        draft.restart(text(again, "message"), group.whom)
    elif is_true(draft.job, "spec", "enableDynamicWorker") and group.replica.type == "Worker":
        return
    elif not group.count.crashed and group.replica.policy != "Never":
        # Merely deleted, and to be started again; upstream fails the job.
        draft.restart(f"TFJob {draft.namespace}/{draft.name} is restarting {what}", group.whom)
    else:
        draft.fail(f"TFJob {draft.namespace}/{draft.name} has failed {what}")
