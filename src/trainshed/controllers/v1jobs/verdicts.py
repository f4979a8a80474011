"""Why a job failed, in one line for its owner, and what else is wrong with its pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.controllers.v1jobs import naming, podphases, replicas
from trainshed.controllers.v1jobs.plan import Event
from trainshed.controllers.v1jobs.team import Team
from trainshed.kinds.core import podstates
from trainshed.kinds.kubeflow.families import JAX, PYTORCH, XGBOOST
from trainshed.kinds.reading import entries, number
from trainshed.kube.objects import Object, text

_STATES: Final = ("initContainerStatuses", "containerStatuses")


def first_failure(team: Team) -> str:
    """`rank 1 of 2 (worker-0) exited 1: ModuleNotFoundError: …`; empty where no pod tells."""
    ends = [(ended, pod) for pod in team.pods if (ended := podstates.bad_end(pod)) is not None]
    if not ends:
        return ""
    ended, pod = min(ends, key=lambda found: (found[0].is_echo, found[0].at, _name(found[1])))
    return f"{who(team, pod)}{ended.where} {ended.how}"


def who(team: Team, pod: Object) -> str:
    """A pod by its rank, where the kind gives ranks to pods, and by its place in the job."""
    place = _name(pod).removeprefix(f"{text(team.job, 'metadata', 'name')}-")
    rank = _rank(team, place)
    return place if rank is None else f"rank {rank} of {replicas.total(team.replicas)} ({place})"


def _rank(team: Team, place: str) -> int | None:
    type, _, index = place.rpartition("-")
    master = replicas.find(team.replicas, "Master")
    if not index.isdecimal() or not (team.family is JAX or (master and team.family in (PYTORCH, XGBOOST))):
        return None
    return int(index) + (master.count if master and type == "worker" else 0)


def troubles(team: Team) -> Iterator[Event]:
    """What keeps pods from running that have neither ended nor been deleted, in upstream's words."""
    for pod in team.pods:
        if podphases.is_active(pod):
            yield from _troubles(pod)


def evictions(team: Team) -> Iterator[Event]:
    """Of the workers of an MPIJob."""
    workers = [pod for pod in team.pods if text(pod, "metadata", "labels", naming.TYPE) == "worker"]
    evicted = [pod for pod in workers if text(pod, "status", "reason") == "Evicted"]
    if evicted:
        words = f"{len(evicted)}/{len(workers)} workers are evicted"
        yield Event("Warning", "MPIJobEvicted", words, words)


def _troubles(pod: Object) -> Iterator[Event]:
    found = [status for part in _STATES for status in entries(pod, "status", part)]
    for status in found:
        yield from _of_container(pod, status)
    if not found:
        yield from _of_conditions(pod)


def _of_container(pod: Object, status: Object) -> Iterator[Event]:
    where = f"Error pod {_name(pod)} container {text(status, 'name')}"
    code = number(status, "state", "terminated", "exitCode")
    if code:
        said = text(status, "state", "terminated", "message")
        words = f"{where} exitCode: {code} terminated message: {said}"
        yield _trouble(pod, text(status, "state", "terminated", "reason"), words)
    if said := text(status, "state", "waiting", "message"):
        yield _trouble(pod, text(status, "state", "waiting", "reason"), f"{where} waiting message: {said}")


def _of_conditions(pod: Object) -> Iterator[Event]:
    """Only the latest one counts."""
    known = entries(pod, "status", "conditions")
    latest = max(known, key=lambda one: text(one, "lastTransitionTime"), default={"status": "True"})
    if latest.get("status") != "True":
        said = text(latest, "message")
        yield _trouble(pod, text(latest, "reason"), f"Error pod {_name(pod)} condition message: {said}")


def _trouble(pod: Object, reason: str, message: str) -> Event:
    return Event("Warning", reason or "Error", message, f"{text(pod, 'metadata', 'uid')} {message}")


def _name(pod: Object) -> str:
    return text(pod, "metadata", "name")
