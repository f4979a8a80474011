"""Rooms that are kept for pods to come, on the board as if these were there already."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trainshed.controllers.scheduler import promises
from trainshed.controllers.scheduler.board import Board
from trainshed.controllers.scheduler.gangs import GangKey, Squad
from trainshed.controllers.scheduler.needs import Need
from trainshed.kube.objects import Object


class Reserve:
    def __init__(self, board: Board, *, relax: bool = False) -> None:
        self._board, self._relax = board, relax
        self._jobsets: dict[str, Object] = {}
        """Those with several Jobs: the others make all they make at once."""
        self._held: dict[GangKey, dict[str, Need]] = {}

    def learn(self, uid: str, jobset: Object | None) -> bool:
        """A JobSet as it is now; whether it matters here."""
        if jobset is None or not promises.has_several_jobs(jobset):
            return self._jobsets.pop(uid, None) is not None
        self._jobsets[uid] = jobset
        return True

    def promised(self, gang: GangKey, squads: Collection[Squad]) -> tuple[Need, ...]:
        """The pods a gang is still to get."""
        owners = {
            squad.jobset: self._jobsets[squad.jobset] for squad in squads if squad.jobset in self._jobsets
        }
        found = (promises.of(jobset, gang, squads, relax=self._relax) for jobset in owners.values())
        return tuple(need for many in found for need in many)

    def held(self, gang: GangKey) -> tuple[Need, ...]:
        return tuple(self._held.get(gang, {}).values())

    def keep(self, gang: GangKey, promised: Iterable[Need]) -> None:
        """These, and only these, have a place on the board for the gang."""
        if found := {need.uid: need for need in promised}:
            self._held[gang] = found
        else:
            self._held.pop(gang, None)

    def secure(self, gang: GangKey, squads: Collection[Squad]) -> None:
        """Find places, as far as there are any, for what a gang is to get that was placed without us."""
        held = self._held.get(gang, {})
        missing = [need for need in self.promised(gang, squads) if need.uid not in held]
        found = [need for need in missing if self._board.place([need])]
        self.keep(gang, (*held.values(), *found))

    def trim(self, gang: GangKey, squads: Collection[Squad], running: Iterable[str]) -> list[Need]:
        """Give back and return what nobody will need; `running` has the Job of each pod with a place."""
        held = self._held.get(gang)
        if held is None:
            return []
        there = [*running]
        promised = {need.uid for need in self.promised(gang, squads)} if there else set()
        left = {squad.name: squad.expected - there.count(squad.uid) for squad in squads if there}
        surplus: list[Need] = []
        for need in held.values():
            left[need.promised_by] = left.get(need.promised_by, 0) - 1
            if need.uid not in promised and left[need.promised_by] < 0:
                self._board.take(need.uid)
                surplus.append(need)
        self.keep(gang, (need for need in held.values() if need not in surplus))
        return surplus
