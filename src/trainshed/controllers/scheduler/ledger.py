"""What the scheduler knows, kept up to date change by change: nodes, who is where, who waits, in which order.

Our own decisions count from the moment they are made, long before the server tells of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trainshed.controllers.scheduler import gangs, needs, nodes
from trainshed.controllers.scheduler.board import Board, Spot
from trainshed.controllers.scheduler.gangs import Gang, GangKey, Order, Squad
from trainshed.controllers.scheduler.needs import Need
from trainshed.controllers.scheduler.placing import Stamp
from trainshed.controllers.scheduler.reserve import Reserve
from trainshed.kinds.jobset.labels import JOBSET_UID
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import Object, text

COURTESY = 0.5
"""Seconds for which a new job is waited for by those made after it."""


@dataclass(frozen=True, slots=True)
class Root:
    """An owner, when it was made and who owns it in turn: jobs keep their place through restarts."""

    uid: str
    created: str
    number: int
    owner: str


class Ledger:
    def __init__(self, *, relax: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.board = Board()
        self.gangs: dict[GangKey, Gang] = {}
        """Those with pods that wait."""
        self.stamps: dict[str, Stamp] = {}
        self.count = 0
        self.dirty = True
        """Has something changed that could let somebody go?"""
        self.is_live = False
        """From now on, what we learn has just happened."""
        self._relax, self._clock = relax, clock
        self._new: dict[str, float] = {}
        """Topmost owners that were made a moment ago and have no complete gang yet."""
        self._numbers = 0
        self._pods: dict[str, Need] = {}
        self._home: dict[str, GangKey] = {}
        """The gang of each pod that waits or runs."""
        self._members: dict[GangKey, set[str]] = {}
        self._squads: dict[str, Squad] = {}
        self._by_gang: dict[GangKey, set[str]] = {}
        self._by_jobset: dict[str, set[GangKey]] = {}
        self._roots: dict[str, Root] = {}
        self._assumed: dict[str, str] = {}
        self._line: list[Gang] | None = None
        self._reserve = Reserve(self.board, relax=relax)
        self._unsecured: set[GangKey] = set()
        """Gangs with pods that were placed by somebody else, or before we began."""
        self._claims: dict[tuple[str, str], bool] = {}
        """Volume claims, and whether they may be used."""

    # --- learning ---

    def node(self, before: Object | None, after: Object | None) -> None:
        if after is not None:
            self.dirty |= self.board.set_node(nodes.of(after))
        elif before is not None:
            self.board.drop_node(text(before, "metadata", "name"))
            self.dirty = True

    def pod(self, before: Object | None, after: Object | None) -> None:
        obj = after or before
        if obj is None:
            return
        uid = text(obj, "metadata", "uid")
        if before is not None and after is not None and text(before, "metadata", "uid") != uid:
            self._gone(text(before, "metadata", "uid"))
        node = text(obj, "spec", "nodeName")
        if after is None or needs.is_over(obj):
            self._gone(uid)
        elif node:
            self._bound(uid, obj, node)
        elif uid not in self._assumed:
            self._arrived(uid, obj) if needs.is_waiting(obj) else self._gone(uid)
        elif text(obj, "metadata", "deletionTimestamp"):
            self._gone(uid)

    def job(self, before: Object | None, after: Object | None) -> None:
        self.root(before, after)
        if after is None:
            old = self._squads.pop(text(before or {}, "metadata", "uid"), None)
            if old is not None:
                self._by_gang.get(old.gang, set()).discard(old.uid)
                self._refresh(old.gang)
            return
        squad = gangs.squad_of(after)
        old = self._squads.get(squad.uid)
        if squad == old:
            return
        self._squads[squad.uid] = squad
        if squad.gang:
            self._by_gang.setdefault(squad.gang, set()).add(squad.uid)
        if old is None and squad.jobset:
            self._by_jobset.setdefault(squad.jobset, set()).add(squad.gang)
        if old is None:  # pods of it may have come first
            for uid in [
                uid for uid, need in self._pods.items() if need.job == squad.uid and uid in self._home
            ]:
                self._file(uid)
        self._refresh(squad.gang)

    def jobset(self, before: Object | None, after: Object | None) -> None:
        uid = text(after or before or {}, "metadata", "uid")
        is_new = uid not in self._roots
        self.root(before, after)
        if self._reserve.learn(uid, after) or is_new:
            for key in self._by_jobset.get(uid, ()):
                self._refresh(key)
        if after is None:
            self._by_jobset.pop(uid, None)

    def claim(self, before: Object | None, after: Object | None) -> None:
        meta = mapping(after or before or {}, "metadata")
        place, usable = (text(meta, "namespace"), text(meta, "name")), not text(meta, "deletionTimestamp")
        known = self._claims.get(place)
        if after is None:
            self._claims.pop(place, None)
        else:
            self._claims[place] = usable
        if known != self._claims.get(place):
            for gang in [gang for gang in self.gangs.values() if _mounts(gang, *place)]:
                self._refresh(gang.key)

    def root(self, before: Object | None, after: Object | None) -> None:
        """Anything pods descend from, for the order of the line."""
        uid = text(after or before or {}, "metadata", "uid")
        if after is None:
            self._roots.pop(uid, None)
            self._new.pop(uid, None)
        elif uid not in self._roots:
            self._numbers += 1
            created = text(after, "metadata", "creationTimestamp")
            self._roots[uid] = root = Root(uid, created, self._numbers, gangs.owner_uid(after))
            if self.is_live and not root.owner and gangs.makes_pods(after):
                self._new[uid] = self._clock()
        elif uid in self._new and not gangs.makes_pods(after):
            del self._new[uid]
            self.dirty = True

    # --- deciding ---

    def line(self) -> list[Gang]:
        """Who waits, in order."""
        if self._line is None:
            self._line = sorted(self.gangs.values(), key=lambda gang: gang.order)
        return self._line

    def ready(self) -> tuple[list[Gang], float | None]:
        """Those in line whose pods are all there; and, where some are held back, for how many seconds.

        Controllers work on many jobs at once, so pods of a later one may come first. They wait for those of
        jobs that were made before them, for a moment.
        """
        self._secure()
        complete = [gang for gang in self.line() if not gang.obstacle()]
        if not self._new:
            return complete, None
        for gang in complete:
            self._new.pop(gang.root, None)
        now = self._clock()
        self._new = {uid: since for uid, since in self._new.items() if now - since < COURTESY}
        if not self._new:
            return complete, None
        first = min((self._roots[uid].created, self._roots[uid].number) for uid in self._new)
        going = [gang for gang in complete if not gang.root or gang.order < (0, *first)]
        wait = max(0.005, COURTESY - (now - min(self._new.values())))
        return going, wait if len(going) < len(complete) else None

    def assume(self, spots: Sequence[Spot]) -> None:
        """These were decided, and are on the board already."""
        self.count += 1
        kept: dict[GangKey, list[Need]] = {}
        for spot in spots:
            key = spot.need.group if spot.need.promised_by else self._home[spot.need.uid]
            self.stamps[spot.need.uid] = Stamp(self.count, self.gangs[key].order)
            kept.setdefault(key, []).extend([spot.need] if spot.need.promised_by else [])
        for key, promised in kept.items():
            self._forget_stamps(need for need in self._reserve.held(key) if need not in promised)
            self._reserve.keep(key, promised)
        for spot in spots:
            if not spot.need.promised_by:
                self._assumed[spot.need.uid] = spot.node
                self._runs(spot.need.uid)

    def revoke(self, need: Need) -> None:
        """It did not come to that after all; the pod waits again, if it is still there."""
        if self._assumed.pop(need.uid, None) is None:
            return
        self.board.take(need.uid)
        self.stamps.pop(need.uid, None)
        if need.uid in self._pods:
            self._wait(need.uid)

    # --- pods ---

    def _arrived(self, uid: str, obj: Object) -> None:
        need = needs.of(obj, relax=self._relax)
        if uid in self._home and self._pods.get(uid) == need:
            return
        self._pods[uid] = need
        self._wait(uid)

    def _wait(self, uid: str) -> None:
        self._file(uid)
        self.dirty = True

    def _file(self, uid: str) -> None:
        """Put a pod into the gang it belongs to, as far as that is known."""
        need = self._pods[uid]
        key = gangs.key_of(need, self._squads.get(need.job))
        runs = uid in self.board.homes
        if self._home.get(uid) not in (None, key):
            self._leave(uid)
        self._home[uid] = key
        self._members.setdefault(key, set()).add(uid)
        gang = self.gangs.get(key)
        if gang is None and runs:
            return
        if gang is None:
            gang = self.gangs[key] = self._gang(key)
        if runs:
            gang.running[uid] = need.job
        else:
            gang.running.pop(uid, None)
            gang.waiting[uid] = need
        self._refresh(key)

    def _gang(self, key: GangKey) -> Gang:
        """A gang of which somebody begins to wait; others of it may run already."""
        running = {uid: self._pods[uid].job for uid in self._members[key] if uid in self.board.homes}
        return Gang(key, running=running)

    def _bound(self, uid: str, obj: Object, node: str) -> None:
        if self._assumed.pop(uid, None) == node:
            return
        if self.board.homes.get(uid) == node:
            return
        self._pods[uid] = need = self._pods.get(uid) or needs.of(obj, relax=self._relax)
        self.board.put(need, node)
        if uid in self._home:
            self._runs(uid)
        else:
            self._file(uid)
        self._unsecured.add(self._home[uid])

    def _runs(self, uid: str) -> None:
        """A pod of a gang has its place: it waits no longer."""
        key = self._home[uid]
        gang = self.gangs.get(key)
        if gang is not None and gang.waiting.pop(uid, None) is not None:
            gang.running[uid] = self._pods[uid].job
            self._refresh(key)

    def _gone(self, uid: str) -> None:
        self._assumed.pop(uid, None)
        self.stamps.pop(uid, None)
        if self.board.take(uid):
            self.dirty = True
        if uid in self._home:
            self._leave(uid)
        self._pods.pop(uid, None)

    def _leave(self, uid: str) -> None:
        key = self._home.pop(uid)
        members = self._members[key]
        members.discard(uid)
        if not members:
            del self._members[key]
        gang = self.gangs.get(key)
        if gang is not None:
            gang.waiting.pop(uid, None)
            gang.running.pop(uid, None)
        self._refresh(key)

    # --- gangs ---

    def _refresh(self, key: GangKey) -> None:
        """A gang has changed: who belongs to it, or how many should."""
        self._trim(key)
        gang = self.gangs.get(key)
        if gang is None:
            return
        self._line = None
        if not gang.waiting:
            del self.gangs[key]
            return
        gang.squads = self._squads_of(key)
        jobs = all(need.job in self._squads for need in gang.waiting.values() if need.job)
        gang.is_understood = jobs and all(one.jobset in self._roots for one in gang.squads if one.jobset)
        gang.promised, gang.held = self._reserve.promised(key, gang.squads), self._reserve.held(key)
        gang.lacking = self._lacking(gang)
        gang.order = self._order(gang)
        gang.changed()
        self.dirty = True

    def _squads_of(self, key: GangKey) -> list[Squad]:
        return [self._squads[uid] for uid in self._by_gang.get(key, ())]

    def _trim(self, key: GangKey) -> None:
        """Rooms kept for pods that will not come are free again."""
        if self._reserve.held(key):
            there = (uid for uid in self._members.get(key, ()) if uid in self.board.homes)
            running = [self._pods[uid].job for uid in there]
            surplus = self._reserve.trim(key, self._squads_of(key), running)
            self._forget_stamps(surplus)
            self.dirty |= bool(surplus)

    def _forget_stamps(self, gone: Iterable[Need]) -> None:
        for need in gone:
            self.stamps.pop(need.uid, None)

    def _secure(self) -> None:
        for key in self._unsecured:
            if key in self._members:
                self._reserve.secure(key, self._squads_of(key))
                self._refresh(key)
        self._unsecured.clear()

    def _lacking(self, gang: Gang) -> str:
        for need in gang.waiting.values():
            for name in need.claims:
                usable = self._claims.get((need.namespace, name))
                if not usable:
                    what = "is being deleted; create it again" if usable is False else "not found; create it"
                    return f'persistentvolumeclaim "{name}" {what} in namespace {need.namespace}'
        return ""

    def _order(self, gang: Gang) -> Order:
        one = next(iter(gang.waiting.values()))
        root = self._root_of(one)
        gang.root = root.uid if root else ""
        if root is None:
            self._numbers += 1
            return -gang.priority, one.created, gang.order[2] or self._numbers
        return -gang.priority, root.created, root.number

    def _root_of(self, need: Need) -> Root | None:
        """The topmost owner that is known."""
        found, uid = None, need.job or text(need.labels, JOBSET_UID) or need.maker
        for _ in range(8):  # owners in a circle would be somebody's bad joke
            root = self._roots.get(uid)
            if root is None:
                break
            found, uid = root, root.owner
        return found


def _mounts(gang: Gang, namespace: str, claim: str) -> bool:
    return any(need.namespace == namespace and claim in need.claims for need in gang.waiting.values())
