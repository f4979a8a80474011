"""Nodes with what runs on them: pods are put on and taken off, to try things out or for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trainshed.controllers.scheduler import amounts, nodes
from trainshed.controllers.scheduler.amounts import Amounts
from trainshed.controllers.scheduler.needs import Need, Term
from trainshed.controllers.scheduler.nodes import Node, Refusal
from trainshed.kinds.core.resources import is_native

_MOST_KNOWN = 10_000


@dataclass(slots=True)
class Room:
    node: Node
    free: Amounts
    pods: dict[str, Need] = field(default_factory=dict)

    def has(self, requests: Amounts) -> bool:
        return all(self.free.get(name, _unlisted(name)) >= amount for name, amount in requests.items())


@dataclass(frozen=True, slots=True)
class Spot:
    """A pod and the node it is to run on."""

    need: Need
    node: str
    ignored: Refusal | None = None
    """What was disregarded, since no node offers it."""


class Board:
    def __init__(self, found: Iterable[Node] = ()) -> None:
        self.rooms: dict[str, Room] = {node.name: Room(node, dict(node.room)) for node in found}
        self.homes: dict[str, str] = {}
        """The node of each pod by its uid."""
        self._repelling: dict[str, Need] = {}
        self._known: dict[tuple[str, bytes], tuple[Refusal | None, int]] = {}

    def set_node(self, node: Node) -> bool:
        """A node as it is now; whether that makes a difference."""
        before = self.rooms.get(node.name)
        if before is not None and before.node == node:
            return False
        room = Room(node, dict(node.room), before.pods if before else {})
        for need in room.pods.values():
            amounts.subtract(room.free, need.requests)
        self.rooms[node.name] = room
        self._known.clear()
        return True

    def drop_node(self, name: str) -> None:
        """The node is gone; pods that were on it are remembered in case it comes back."""
        if name in self.rooms and not self.rooms[name].pods:
            del self.rooms[name]
        elif name in self.rooms:
            self.set_node(nodes.unknown(name))
        self._known.clear()

    def put(self, need: Need, node: str) -> None:
        if need.uid in self.homes:
            self.take(need.uid)
        room = self.rooms.get(node)
        if room is None:  # its node is not seen yet
            room = self.rooms[node] = Room(nodes.unknown(node), {})
        room.pods[need.uid] = need
        self.homes[need.uid] = node
        amounts.subtract(room.free, need.requests)
        if need.repel:
            self._repelling[need.uid] = need

    def take(self, uid: str) -> bool:
        """Take a pod off; False where it is on no node."""
        node = self.homes.pop(uid, None)
        if node is None:
            return False
        room = self.rooms[node]
        need = room.pods.pop(uid)
        amounts.add(room.free, need.requests)
        self._repelling.pop(uid, None)
        return True

    # --- trying ---

    def place(self, needs: Sequence[Need]) -> list[Spot] | None:
        """Put all the pods on nodes, or none: spread out where that works, else side by side."""
        spots = self._place(needs, pack=False)
        if spots is None and len(needs) > 1 and len(self.rooms) > 1:
            spots = self._place(needs, pack=True)
            if spots is None and any(need.attract for need in needs):
                return self._gather(needs)
        return spots

    def undo(self, spots: Iterable[Spot]) -> None:
        for spot in spots:
            self.take(spot.need.uid)

    def lift(self, held: Iterable[Need]) -> list[Spot]:
        """Take pods off that may be wanted back as they were."""
        found = [Spot(need, self.homes[need.uid]) for need in held if need.uid in self.homes]
        self.undo(found)
        return found

    def lay(self, lifted: Iterable[Spot]) -> None:
        for spot in lifted:
            self.put(spot.need, spot.node)

    def _place(self, needs: Sequence[Need], pack: bool) -> list[Spot] | None:
        spots: list[Spot] = []
        for need in needs:
            spot = self.spot(need, pack=pack)
            if spot is None:
                self.undo(spots)
                return None
            self.put(need, spot.node)
            spots.append(spot)
        return spots

    def _gather(self, needs: Sequence[Need]) -> list[Spot] | None:
        """Where some must be near others, the place of the first decides: try one node after the other."""
        first, *others = needs
        for room in [room for room in self.rooms.values() if self._fits(room, first)]:
            self.put(first, room.node.name)
            spots = self._place(others, pack=True)
            if spots is not None:
                return [Spot(first, room.node.name), *spots]
            self.take(first.uid)
        return None

    def _fits(self, room: Room, need: Need) -> bool:
        return self.refusal(room, need) is None and room.has(need.requests) and self.gets_along(room, need)

    def spot(self, need: Need, *, pack: bool = False) -> Spot | None:
        """The best place for a pod as things are, or None."""
        willing = [room for room in self.rooms.values() if self.refusal(room, need) is None]
        ignored = None
        if need.relaxed and not willing:
            usable = [room for room in self.rooms.values() if _is_usable(room.node)]
            ignored = self.refusal(usable[0], need) if usable else None
            willing = usable
        fitting = [room for room in willing if room.has(need.requests) and self.gets_along(room, need)]
        if need.relaxed and not fitting:
            fitting = willing
        if not fitting:
            return None
        sign = -1 if pack else 1
        best = max(fitting, key=lambda room: (self._look(room, need)[1], sign * _left(room, need.requests)))
        return Spot(need, best.node.name, ignored)

    def refusal(self, room: Room, need: Need) -> Refusal | None:
        """What keeps the pod off this node whatever else is there."""
        return self._look(room, need)[0]

    def _look(self, room: Room, need: Need) -> tuple[Refusal | None, int]:
        known = self._known.get((room.node.name, need.shape))
        if known is None:
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            known = nodes.refusal(room.node, need.spec), nodes.preference(room.node, need.spec)
            self._known[room.node.name, need.shape] = known
        return known

    # --- pods that want to be near or far ---

    def gets_along(self, room: Room, need: Need) -> bool:
        """Whether required pod affinity, its own and that of others against it, allows the node."""
        return (
            all(self._is_near(room, term, need) for term in need.attract)
            and not any(self._shares(room, term) for term in need.repel)
            and not any(self._is_repelled(room, need, other) for other in self._repelling.values())
        )

    def _is_near(self, room: Room, term: Term, need: Need) -> bool:
        if term.topology not in room.node.labels:
            return False
        if self._shares(room, term):
            return True
        # The first of several that want to be together has nobody to join yet.
        everybody = (pod for other in self.rooms.values() for pod in other.pods.values())
        return term.is_about(need) and not any(map(term.is_about, everybody))

    def _is_repelled(self, room: Room, need: Need, other: Need) -> bool:
        return any(
            term.is_about(need) and self._same_place(room, self.rooms[self.homes[other.uid]], term)
            for term in other.repel
        )

    def _shares(self, room: Room, term: Term) -> bool:
        return any(
            self._same_place(room, other, term) and any(map(term.is_about, other.pods.values()))
            for other in self.rooms.values()
        )

    def _same_place(self, room: Room, other: Room, term: Term) -> bool:
        value = room.node.labels.get(term.topology)
        return value is not None and other.node.labels.get(term.topology) == value


def _is_usable(node: Node) -> bool:
    return node.is_ready and not node.is_cordoned


def _unlisted(name: str) -> int:
    """Of devices a node does not list it has none; what it does not keep count of is not counted."""
    return 1 << 62 if is_native(name) and name not in (amounts.CPU, "memory") else 0


def _left(room: Room, requests: Amounts) -> float:
    """The share that would be left of what is scarcest then."""
    shares = [
        (room.free.get(name, 0) - requests.get(name, 0)) / amount
        for name, amount in room.node.room.items()
        if amount > 0
    ]
    return min(shares, default=0.0)
