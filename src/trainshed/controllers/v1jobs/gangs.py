"""Marks by which the scheduler knows that pods of a job belong together: all get nodes at once, or none."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.controllers.v1jobs import elastic, podphases, replicas
from trainshed.controllers.v1jobs.plan import Mark
from trainshed.controllers.v1jobs.team import Team
from trainshed.kinds.reading import child
from trainshed.kinds.scheduling.gangs import MINIMUM
from trainshed.kube.objects import Object, text


def minimum(team: Team) -> int:
    """How many pods must be there before any of them may start; never more than there will be."""
    total = replicas.total(team.replicas)
    if team.policy.min_available is not None:
        return max(1, min(team.policy.min_available, total))
    bounds, workers = elastic.bounds(team.job, team.replicas), replicas.find(team.replicas, "Worker")
    if bounds is None or workers is None:
        return total
    return max(1, total - workers.count + min(max(0, bounds.least), workers.count))


def mark(team: Team, pod: Object) -> None:
    """Tell a new pod how many it has to wait for; one that takes another's place waits for nobody."""
    spec = pod["spec"]
    if team.policy.priority_class and not text(spec, "priorityClassName"):
        spec["priorityClassName"] = team.policy.priority_class
    fewest = minimum(team)
    if fewest > 1 and not team.has_begun:
        notes = child(pod["metadata"], "annotations")
        notes[MINIMUM] = str(fewest)


def outdated(team: Team, going: frozenset[str]) -> Iterator[Mark]:
    """Pods that wait for a number of pods that is no longer right: somebody has changed the job."""
    wanted = str(minimum(team))
    for pod in team.pods:
        given = text(pod, "metadata", "annotations", MINIMUM)
        if given and given != wanted and _waits(pod) and text(pod, "metadata", "name") not in going:
            yield Mark(pod, {MINIMUM: wanted})


def _waits(pod: Object) -> bool:
    return podphases.is_active(pod) and not podphases.is_placed(pod)
