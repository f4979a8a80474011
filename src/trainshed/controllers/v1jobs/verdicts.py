"""Why a job failed, in one line for its owner, and what else is wrong with its pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.controllers.v1jobs import naming, places, podphases, restarts
from trainshed.controllers.v1jobs.plan import Event
from trainshed.controllers.v1jobs.team import Team
from trainshed.kinds.core import podstates
from trainshed.kinds.reading import entries, number
from trainshed.kube.objects import Object, text

_STATES: Final = ("initContainerStatuses", "containerStatuses")


def first_failure(team: Team) -> str:
    """`rank 1 of 2 (worker-0) exited 1: ModuleNotFoundError: …`; empty where no pod tells."""
    ends = [(ended, pod) for pod in team.pods if (ended := podstates.bad_end(pod)) is not None]
    if not ends:
        return ""
    ended, pod = min(ends, key=lambda found: (found[0].is_echo, found[0].at, _name(found[1])))
    who = places.who(team.family, team.job, team.replicas, pod)
    return f"{who}{ended.where} {ended.how}"


def troubles(team: Team) -> Iterator[Event]:
    """What keeps pods from running that have neither ended nor been deleted, in upstream's words.

    Those do not say why a container is started again; so that is told in ours.
    """
    for pod in team.pods:
        if podphases.is_active(pod):
            yield from _troubles(pod)
    if (again := restarts.latest(team.pods)) is not None:
        said = restarts.words(team.family, team.job, team.pods, again, team.replicas)
        yield Event("Warning", "ContainerRestarting", said, again.once)


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
