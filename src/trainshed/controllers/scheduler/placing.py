"""Who gets a place now: the line of gangs against the nodes, as they are at one moment. Pure.

First come, first served within a priority. Whoever stands first and does not fit yet is the head of the
line: others may pass it only where it would still fit if everything ended that ran before it came. So small
jobs use what a large one cannot, and never keep it waiting. What could not run even on empty nodes holds up
nobody. Nor does the head hold up the rest of a gang that runs in part: it would wait for that gang for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from trainshed.controllers.scheduler import gangs
from trainshed.controllers.scheduler.board import Board, Spot
from trainshed.controllers.scheduler.gangs import Candidate, GangKey, Order
from trainshed.controllers.scheduler.needs import Need

Shape = tuple[bytes, ...]


class Stamp(NamedTuple):
    """When a pod was placed, by count, and where in the line its gang stood."""

    number: int
    order: Order


@dataclass(slots=True)
class Decision:
    spots: list[Spot] = field(default_factory=list)
    """Already put on the board."""
    head: Candidate | None = None
    behind: set[GangKey] = field(default_factory=set)
    """Would fit, but must not go before the head."""
    blocked: list[GangKey] = field(default_factory=list)
    """Do not fit now, though they could."""


def decide(line: Iterable[Candidate], board: Board, stamps: Mapping[str, Stamp]) -> Decision:
    """Place what may go, in order. `stamps` tells when, and for whom, pods on the board were placed."""
    made = Decision()
    hopeless: set[Shape] = set()
    future: Board | None = None
    for candidate in line:
        shape = candidate.shape
        if shape in hopeless:
            made.blocked.append(candidate.key)
            continue
        lifted = board.lift(candidate.held)
        spots = placed(candidate, board)
        if spots is None:
            board.lay(lifted)
            hopeless.add(shape)
            if not could_run(candidate, board):
                continue
            made.blocked.append(candidate.key)
            if made.head is None and candidate.required:
                made.head, future = candidate, _future(candidate, board, stamps)
        elif made.head and future and not (candidate.has_begun or _leaves_room(spots, made.head, future)):
            board.undo(spots)
            board.lay(lifted)
            hopeless.add(shape)
            made.behind.add(candidate.key)
        else:
            made.spots += spots
    return made


def placed(candidate: Candidate, board: Board) -> list[Spot] | None:
    """Put a gang on the board: all that is required, and what else there is room for. None if not."""
    spots = board.place([*gangs.biggest_first(candidate.required)])
    if spots is None:
        return None
    for need in candidate.optional:
        if more := board.place([need]):
            spots += more
    if all(spot.need.promised_by for spot in spots):
        board.undo(spots)
        return None
    return spots


def could_run(candidate: Candidate, board: Board) -> bool:
    """Would it fit if nothing else ran?"""
    return _try(candidate.required, Board(room.node for room in board.rooms.values() if room.node.is_known))


def _try(required: Iterable[Need], board: Board) -> bool:
    spots = board.place([*gangs.biggest_first(required)])
    if spots is None:
        return False
    board.undo(spots)
    return True


def _future(head: Candidate, board: Board, stamps: Mapping[str, Stamp]) -> Board:
    """The nodes once everything has ended but what passed the head while it waited."""
    found = Board(room.node for room in board.rooms.values())
    for room in board.rooms.values():
        for uid, need in room.pods.items():
            stamp = stamps.get(uid)
            if stamp is not None and stamp.number > head.since and stamp.order > head.order:
                found.put(need, room.node.name)
    return found


def _leaves_room(spots: list[Spot], head: Candidate, future: Board) -> bool:
    """Whether the head will still fit beside these; then they are part of that future."""
    for spot in spots:
        future.put(spot.need, spot.node)
    if _try(head.required, future):
        return True
    future.undo(spots)
    return False
