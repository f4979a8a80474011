"""Gangs: pods that are placed together or not at all, and how many of them there must be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from trainshed.controllers.scheduler import amounts, needs
from trainshed.controllers.scheduler.amounts import Amounts
from trainshed.controllers.scheduler.needs import Need
from trainshed.kinds.reading import entries, mapping, number
from trainshed.kube.objects import Object, text
from trainshed.kube.owners import controller_of

GangKey = tuple[str, ...]
Order = tuple[int, str, int]
"""Where a gang stands in the line: priority (negated), when it was made, and a count for the same second."""
_OVER = ("Complete", "Completed", "Succeeded", "Failed", "SuccessCriteriaMet", "FailureTarget")
"""Conditions of Jobs, JobSets, TrainJobs and the v1 kinds alike."""


@dataclass(frozen=True, slots=True)
class Squad:
    """A Job, as far as it says how many pods belong together."""

    uid: str
    name: str
    expected: int
    """How many of its pods should be there by now, running or waiting."""
    gang: GangKey
    """Empty where its pods do not depend on each other."""
    jobset: str = ""
    """The uid of the JobSet that made it."""
    is_suspended: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A gang whose pods are all there, to be placed."""

    key: GangKey
    name: str
    required: tuple[Need, ...]
    optional: tuple[Need, ...] = ()
    """May be placed too, each for itself."""
    order: Order = (0, "", 0)
    since: int = 0
    """What has a later stamp was placed while it waited."""
    shape: tuple[bytes, ...] = ()
    """Gangs of one shape fit alike."""
    held: tuple[Need, ...] = ()
    """Pods to come whose room is kept, for these and for those of the required that have come."""
    has_begun: bool = False
    """Do others of it run? Whoever waits for these to end waits for the rest of it too."""


class Whole(NamedTuple):
    """A gang as it will be, as far as those of its pods show that are there."""

    there: int
    size: int
    total: Amounts
    kinds: tuple[Need, ...]
    """One of each Job, to stand for all of it."""


def squad_of(job: Object) -> Squad:
    owner = controller_of(job) or {}
    jobset = text(owner, "uid") if owner.get("kind") == "JobSet" else ""
    waits = mapping(job, "spec").get("suspend") is True and not is_over(job)
    name = text(job, "metadata", "name")
    return Squad(text(job, "metadata", "uid"), name, expected(job), _gang_of(job), jobset, waits)


def makes_pods(owner: Object) -> bool:
    """Is it neither suspended nor over?"""
    places = mapping(owner, "spec"), mapping(owner, "spec", "runPolicy")
    return not any(place.get("suspend") is True for place in places) and not is_over(owner)


def is_over(owner: Object) -> bool:
    true = (one.get("type") for one in entries(owner, "status", "conditions") if one.get("status") == "True")
    return any(one in _OVER for one in true)


def expected(job: Object) -> int:
    """How many of its pods should be there by now."""
    spec = mapping(job, "spec")
    if not makes_pods(job):
        return 0
    parallelism = number(spec, "parallelism")
    at_once = 1 if parallelism is None else parallelism
    completions = number(spec, "completions")
    left = at_once if completions is None else completions - (number(job, "status", "succeeded") or 0)
    return max(0, min(at_once, left))


def _gang_of(job: Object) -> GangKey:
    """Marks on its pods, or all pods of an Indexed Job that runs all its indexes at once.

    One with fewer pods than indexes is a queue of work: its pods never needed each other.
    """
    template, spec = mapping(job, "spec", "template", "metadata"), mapping(job, "spec")
    namespace = text(job, "metadata", "namespace")
    marked = needs.group_of(mapping(template, "labels"), mapping(template, "annotations"), namespace)
    if marked:
        return marked
    is_whole = spec.get("completions") is not None and spec.get("completions") == spec.get("parallelism")
    if text(spec, "completionMode") == "Indexed" and is_whole:
        return "job", namespace, text(job, "metadata", "uid")
    return ()


def key_of(need: Need, squad: Squad | None) -> GangKey:
    return need.group or (squad.gang if squad else ()) or ("pod", need.namespace, need.uid)


def owner_uid(obj: Object) -> str:
    return text(controller_of(obj) or {}, "uid")


@dataclass(slots=True)
class Gang:
    """The pods of a gang that wait, those that run, and the Jobs they come from."""

    key: GangKey
    waiting: dict[str, Need] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)
    """The Job of each pod that has its node."""
    squads: list[Squad] = field(default_factory=list)
    is_understood: bool = True
    """Are all Jobs known that its pods come from, and their JobSets?"""
    lacking: str = ""
    """What one of its pods mounts and is not there, in words."""
    promised: tuple[Need, ...] = ()
    """Pods that are not made yet and have to fit beside the others."""
    held: tuple[Need, ...] = ()
    """Pods to come that have their room already."""
    since: int | None = None
    order: Order = (0, "", 0)
    root: str = ""
    """The uid of its topmost owner."""
    _obstacle: str | None = None
    _candidate: Candidate | None = None

    @property
    def name(self) -> str:
        """For people: the JobSet or Job, else the pod."""
        one = next(iter(self.waiting.values()))
        if self.key[0] == "group":
            return f"{one.namespace}/{self.key[2]}"
        return f"{one.namespace}/{one.owner or one.name}"

    def changed(self) -> None:
        """Pods came or went, or how many there should be, or its place in the line."""
        self._obstacle = self._candidate = None

    @property
    def priority(self) -> int:
        return max((need.priority for need in self.waiting.values()), default=0)

    def obstacle(self) -> str:
        """Why its time has not come: pods that are held back or not made yet. Empty when it has."""
        if self._obstacle is None:
            self._obstacle = self._find_obstacle()
        return self._obstacle

    def _find_obstacle(self) -> str:
        gated = [need.name for need in self.waiting.values() if need.gated]
        if gated and len(self.waiting) + len(self.running) > 1:
            return f"pod {gated[0]} is held back by scheduling gates"
        if gated:
            return "scheduling gates hold it back"
        if not self.is_understood:
            return "its Job is not known yet"
        there, wanted = self._counts()
        return f"{there} of {wanted} pods of its gang exist" if there < wanted else self.lacking

    def _counts(self) -> tuple[int, int]:
        """How many pods there are, and how many there must be; of elastic Jobs only their minimum."""
        there, wanted = self._loners()
        for squad in self.squads:
            mine = [need for need in self.waiting.values() if need.job == squad.uid]
            running = sum(job == squad.uid for job in self.running.values())
            least = _least(mine, squad.expected)
            there += min(len(mine) + running, least)
            wanted += least
        return there, wanted

    def _loners(self) -> tuple[int, int]:
        """The same for pods that no Job made: nobody but they themselves say how many there must be."""
        mine = [need for need in self.waiting.values() if not need.job]
        least = max((need.minimum or 0 for need in mine), default=0)
        return min(len(mine) + [*self.running.values()].count(""), least), least

    def whole(self) -> Whole | None:
        """What it will ask for; None for one whose pods are all there."""
        there, count = self._counts()
        if there >= count:
            return None
        kinds, total = [], amounts.total(need.requests for need in self.promised)
        for squad in self.squads:
            mine = [need for need in self.waiting.values() if need.job == squad.uid]
            if mine:
                kinds.append(mine[0])
                amounts.add(total, amounts.times(mine[0].requests, _least(mine, squad.expected)))
        return Whole(there, count + len(self.promised), total, (*kinds, *self.promised))

    def candidate(self, now: int) -> Candidate:
        """The gang to be placed; for one whose obstacles are gone."""
        if self._candidate is None or self.since is None:
            self._candidate = self._make_candidate(now)
        return self._candidate

    def _make_candidate(self, now: int) -> Candidate:
        required: list[Need] = []
        optional: list[Need] = []
        by_job: dict[str, list[Need]] = {}
        for need in sorted(self.waiting.values(), key=lambda need: (need.job, need.index, need.name)):
            by_job.setdefault(need.job, []).append(need)
        for job, mine in by_job.items():
            counts = bool(job) or any(need.minimum is not None for need in mine)
            running = sum(1 for one in self.running.values() if counts and one == job)
            missing = _least(mine, len(mine) + running) - running
            required += mine[: max(0, missing)]
            optional += mine[max(0, missing) :]
        has_begun = bool(self.running and required)
        if has_begun:  # what is wanting comes first; the others are for the next look
            optional = []
        required += self.promised
        since = now if self.since is None else self.since
        shape = (*(need.shape for need in required), b"|", *(need.shape for need in optional))
        if self.held or has_begun:  # it is like no other
            shape = (*shape, *map(str.encode, self.key))
        return Candidate(
            self.key, self.name, (*required,), (*optional,), self.order, since, shape, self.held, has_begun
        )

    def begin_waiting(self, now: int) -> None:
        """It was its turn and it found no place; from now on others may not pass it to its harm."""
        if self.since is None:
            self.since, self._candidate = now, None


def _least(pods: Iterable[Need], expected: int) -> int:
    """How many must be there: all that are expected, or the minimum that elastic ones name."""
    named = [need.minimum for need in pods if need.minimum is not None]
    return min([expected, *named])


def biggest_first(wanted: Iterable[Need]) -> Iterator[Need]:
    """Large ones find a place while there is one; equal ones keep their order.

    Those that must be near others come after them: nobody is there yet whom they could join.
    """
    yield from sorted(wanted, key=lambda need: (bool(need.attract), *_sizes(need)))


def _sizes(need: Need) -> list[int]:
    return [-need.requests.get(name, 0) for name in ("cpu", "memory")]
