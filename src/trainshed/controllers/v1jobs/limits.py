"""Limits of a job as a whole: how often its pods may fail, and how long it may take."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from trainshed.controllers.v1jobs import naming, podphases, replicas
from trainshed.controllers.v1jobs.policies import RunPolicy
from trainshed.controllers.v1jobs.team import Team
from trainshed.kinds.core import podstates
from trainshed.kinds.reading import mapping, number
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import Object, text

_RESTARTING: Final = ("OnFailure", "Always", "ExitCode")


def exceeded(team: Team, status: Object, now: datetime) -> str:
    """Which limit has been reached, in upstream's words; empty while none has."""
    name = text(team.job, "metadata", "name")
    if _is_past_backoff(team, status):
        return f"Job {name} has failed because it has reached the specified backoff limit"
    left = seconds_left(team.policy, status, now)
    if left is not None and left <= 0:
        return f"Job {name} has failed because it was active longer than specified deadline"
    return ""


def seconds_left(policy: RunPolicy, status: Object, now: datetime) -> float | None:
    """Until the deadline; None where there is none or the time does not count yet."""
    start = parse_timestamp(status.get("startTime"))
    if policy.deadline is None or start is None:
        return None
    return policy.deadline - (now - start).total_seconds()


def _is_past_backoff(team: Team, status: Object) -> bool:
    limit = team.policy.backoff_limit
    if limit is None:
        return False
    again = _restarts(team)
    return (again > 0 if limit == 0 else again >= limit) or (limit < 1 and _has_new_failure(team, status))


def _restarts(team: Team) -> int:
    """Of containers in place; pods that were replaced take their count with them."""
    counted = {replica.label for replica in team.replicas if replica.policy in _RESTARTING}
    return sum(
        podstates.restarts(pod)
        for pod in team.pods
        if podphases.phase(pod) == "Running" and text(pod, "metadata", "labels", naming.TYPE) in counted
    )


def _has_new_failure(team: Team, status: Object) -> bool:
    """Have pods failed that the status does not tell of yet?"""
    failed = sum(podphases.phase(pod) == "Failed" for pod in team.pods)
    told = sum(number(one, "failed") or 0 for one in mapping(status, "replicaStatuses").values())
    active = sum(podphases.is_active(pod) for pod in team.pods)
    return failed > told and active != replicas.total(team.replicas)
