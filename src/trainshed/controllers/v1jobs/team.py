"""A job with its replicas and the pods it has, told apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from trainshed.controllers.v1jobs import naming, podphases, replicas
from trainshed.controllers.v1jobs.conditions import SUSPENDED
from trainshed.controllers.v1jobs.plan import Observed
from trainshed.controllers.v1jobs.policies import RunPolicy
from trainshed.controllers.v1jobs.replicas import Replica
from trainshed.controllers.v1jobs.settings import Settings
from trainshed.kinds.kubeflow.families import Family
from trainshed.kube import conditions
from trainshed.kube.ages import parse_timestamp
from trainshed.kube.objects import JSON, Object, dig, text


@dataclass(frozen=True, slots=True)
class Team:
    family: Family
    job: Object
    policy: RunPolicy
    replicas: tuple[Replica, ...]
    pods: tuple[Object, ...]
    """Those that count."""
    by_type: Mapping[str, dict[int, list[Object]]]
    """The same, by the label of their type and by their index."""
    remnants: tuple[Object, ...]
    """Those of the time before the job was suspended, on their way out; they only keep their names."""
    settings: Settings
    has_begun: bool
    """Has any pod got its node? What is made from now on takes the place of another."""
    shared: dict[str, JSON] = field(default_factory=dict)
    """What its pods are told alike, as far as it was looked for."""

    def of_type(self, replica: Replica) -> dict[int, list[Object]]:
        """The pods of a replica by their index; where there are several of one, somebody made some up."""
        return self.by_type.get(replica.label, {})

    def astray(self) -> Iterator[Object]:
        """Pods of types that the job no longer has."""
        wanted = {replica.label for replica in self.replicas}
        for label, by_index in self.by_type.items():
            if label not in wanted:
                yield from chain.from_iterable(by_index.values())


def gathered(seen: Observed, policy: RunPolicy, status: Object) -> Team:
    since = _resumed_at(status)
    mine, remnants = list[Object](), list[Object]()
    for pod in seen.pods:
        (remnants if since is not None and _is_remnant(pod, since) else mine).append(pod)
    return Team(
        seen.family,
        seen.job,
        policy,
        replicas.read(seen.family, seen.job),
        (*mine,),
        _by_type(seen.family, mine),
        (*remnants,),
        seen.settings,
        any(map(_has_begun, mine)),
    )


def _by_type(family: Family, pods: Iterable[Object]) -> dict[str, dict[int, list[Object]]]:
    found: dict[str, dict[int, list[Object]]] = {}
    for pod in pods:
        index, type = podphases.index_of(family, pod), text(pod, "metadata", "labels", naming.TYPE)
        if index is not None and type:
            found.setdefault(type, {}).setdefault(index, []).append(pod)
    return found


def names(pods: Sequence[Object]) -> frozenset[str]:
    return frozenset(text(pod, "metadata", "name") for pod in pods)


def _has_begun(pod: Object) -> bool:
    return (podphases.is_placed(pod) or podphases.is_over(pod)) and not podphases.is_leaving(pod)


def _resumed_at(status: Object) -> datetime | None:
    suspended = conditions.find(dig(status, "conditions"), SUSPENDED)
    if suspended is None or suspended.get("status") == "True":
        return None
    return parse_timestamp(status.get("startTime"))


def _is_remnant(pod: Object, since: datetime) -> bool:
    """Was it deleted when the job was suspended? Its end must not count against the job that goes on."""
    if not podphases.is_leaving(pod):
        return False
    created, told = podphases.created_at(pod), podphases.told_to_go_at(pod)
    return (created is not None and created < since) or (told is not None and told <= since)
