"""Containers that are started again in their pods: the job itself does not say so, but its owner should know.

No phase and no condition of upstream's tells of them: such a job is Running, however often it crashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trainshed.controllers.v1jobs import places, podphases, policies, replicas
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.kinds.core import podstates
from trainshed.kinds.core.podstates import Ended
from trainshed.kinds.kubeflow.families import Family
from trainshed.kube.objects import Object, text


class Restart(NamedTuple):
    pod: Object
    number: int
    """Of its pod."""
    ended: Ended
    """What the pod is, or was, started again for."""
    is_coming: bool

    @property
    def name(self) -> str:
        return text(self.pod, "metadata", "name")

    @property
    def once(self) -> str:
        """The same for as long as this very restart is the latest of its pod."""
        return f"{text(self.pod, 'metadata', 'uid')} restart {self.number}"


def latest(pods: Iterable[Object]) -> Restart | None:
    """The one to tell of: what began those to come, else the last one that was done."""
    found = [one for pod in pods if podphases.is_active(pod) and (one := _restart(pod))]
    if coming := [one for one in found if one.is_coming]:
        return min(coming, key=lambda one: (one.ended.is_echo, one.ended.at, one.name))
    return max(found, key=lambda one: (not one.ended.is_echo, one.ended.at), default=None)


def _restart(pod: Object) -> Restart | None:
    ended, _, is_coming, done = podstates.digest(pod)
    number = done + is_coming
    return Restart(pod, number, ended, is_coming) if ended and number else None


def words(
    family: Family, job: Object, pods: Sequence[Object], restart: Restart, known: Sequence[Replica] = ()
) -> str:
    """`restart 4 of 6: rank 0 of 3 (master-0) exited 2: …`; of the whole job, as its limit counts them."""
    limit, number = _limit(family, job), total(family, job, pods)
    which = f"restart {number} of {limit}" if limit > 0 else f"restart {number}"
    who = places.who(family, job, known or replicas.read(family, job), restart.pod)
    return f"{which}: {who}{restart.ended.where} {restart.ended.how}"


def total(family: Family, job: Object, pods: Iterable[Object]) -> int:
    """Of the whole job, those to come too, but none beyond its limit: it fails instead."""
    limit, begun = _limit(family, job), sum(map(podstates.restarts_begun, pods))
    return min(begun, limit) if limit > 0 else begun


def _limit(family: Family, job: Object) -> int:
    return policies.read(family, job).backoff_limit or 0
