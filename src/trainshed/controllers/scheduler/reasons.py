"""Why a gang waits, in words that name exactly what is missing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainshed.controllers.scheduler import amounts, gangs, placing
from trainshed.controllers.scheduler.amounts import Amounts
from trainshed.controllers.scheduler.board import Board, Room
from trainshed.controllers.scheduler.gangs import Candidate
from trainshed.controllers.scheduler.needs import Need
from trainshed.controllers.scheduler.nodes import Node, Refusal

_MOST_NAMED = 4
_PASSING = ("not ready", "cordoned")


@dataclass(frozen=True, slots=True)
class Reason:
    words: str
    sign: tuple[str, ...]
    """Changes when the reason is another one, not when only a number or a name in it is."""
    lasting: bool = False
    """Waiting alone will not help."""


def incomplete(obstacle: str, lacking: str = "") -> Reason:
    """Not all its pods are there, or what they mount is not."""
    return Reason(obstacle, ("incomplete", lacking))


def why(candidate: Candidate, board: Board, head: Candidate | None) -> Reason:
    """Why a gang with all its pods has no place."""
    lifted = board.lift(candidate.held)
    try:
        return _why(candidate, board, head)
    finally:
        board.lay(lifted)


def _why(candidate: Candidate, board: Board, head: Candidate | None) -> Reason:
    rooms = [room for room in board.rooms.values() if room.node.is_known]
    if not rooms:
        return Reason("there is no node yet: the agent of this machine has not registered one", ("no node",))
    wanted = candidate.required or candidate.optional[:1]
    for need in wanted:
        if refused := _refused(need, rooms, board):
            return refused
        if too_large := _too_large(need, rooms, board):
            return too_large
    if too_many := _too_many(wanted, rooms, board):
        return too_many
    if not placing.could_run(candidate, board):
        words = (
            "its pods do not fit together, even on empty nodes" if len(wanted) > 1 else _not_along(wanted[0])
        )
        return Reason(words, ("together",), lasting=True)
    return _for_now(wanted, rooms, board, head)


def ignored(refusal: Refusal) -> str:
    """What relaxing has disregarded about nodes."""
    what = {"label": "the node selector", "affinity": "the node affinity", "taint": "the taint"}
    return (
        f"relaxed: {what.get(refusal.why, 'the node is')} {refusal.what or refusal.why} was ignored".rstrip()
    )


def overdrawn(need: Need, room: Amounts) -> str:
    """What a relaxed pod was written to have and its node has not; empty where it has it all."""
    lacking = [
        f"{_amount(name, amount)} (this machine has {amounts.written(name, room.get(name, 0))})"
        for name, amount in need.asked.items()
        if amount > room.get(name, 0) and name != amounts.PODS
    ]
    return f"relaxed: requests were ignored: {', '.join(lacking)}" if lacking else ""


# --- never --------------------------------------------------------------------------------------------------


def _willing(need: Need, rooms: Sequence[Room], board: Board) -> list[Room]:
    return [room for room in rooms if board.refusal(room, need) is None]


def _refused(need: Need, rooms: Sequence[Room], board: Board) -> Reason | None:
    """No node takes such a pod, whatever is free."""
    refusals = [(room.node, refusal) for room in rooms if (refusal := board.refusal(room, need))]
    if len(refusals) < len(rooms):
        return None
    node, refusal = refusals[0]
    lasting = refusal.why not in _PASSING
    return Reason(
        _refusal_words(node, refusal, [room.node for room in rooms]), ("refused", refusal.why), lasting
    )


def _refusal_words(node: Node, refusal: Refusal, all_nodes: Sequence[Node]) -> str:
    match refusal.why:
        case "label":
            key = refusal.what.partition("=")[0]
            there = _listed(f"{one.name} ({_label(one, key)})" for one in all_nodes)
            return f"no node has label {refusal.what}; nodes: {there}"
        case "affinity":
            return (
                f"no node fits its node affinity {refusal.what}; nodes: {_listed(n.name for n in all_nodes)}"
            )
        case "taint":
            return f"node {node.name} has taint {refusal.what}, which it does not tolerate"
        case "cordoned":
            return f"node {node.name} is cordoned; kubectl uncordon {node.name} lets pods in again"
        case "not ready":
            return f"node {node.name} is not ready"


def _label(node: Node, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"


def _too_large(need: Need, rooms: Sequence[Room], board: Board) -> Reason | None:
    """Each node that would take it lacks something even when it is empty."""
    willing = _willing(need, rooms, board)
    lacks = [_lack(need.requests, room.node.room) for room in willing]
    if not lacks or not all(lacks):
        return None
    name = min(lacks, key=len)[0]
    most = max(willing, key=lambda room: room.node.room.get(name, 0))
    has = f"{_this(most, willing, len(rooms))} has {amounts.written(name, most.node.room.get(name, 0))}"
    words, lasting = _unwilling(need, rooms, board)
    said = f"needs {_amount(name, need.requests[name])}, {has}{words}"
    return Reason(said, ("never", name, "unwilling" if words else ""), lasting)


def _unwilling(need: Need, rooms: Sequence[Room], board: Board) -> tuple[str, bool]:
    """A node that has enough and does not take it, in words; and whether it will stay so."""
    for room in rooms:
        refusal = board.refusal(room, need)
        if refusal is not None and not _lack(need.requests, room.node.room):
            return f"; node {room.node.name} has enough, but {_but(refusal)}", refusal.why not in _PASSING
    return "", True


def _but(refusal: Refusal) -> str:
    match refusal.why:
        case "label":
            return f"not the label {refusal.what}"
        case "affinity":
            return f"does not fit its node affinity {refusal.what}"
        case "taint":
            return f"has taint {refusal.what}, which it does not tolerate"
        case "cordoned" | "not ready":
            return f"is {refusal.why}"


def _too_many(wanted: Sequence[Need], rooms: Sequence[Room], board: Board) -> Reason | None:
    """All nodes that would take one of them have too little for all together."""
    willing = [room for room in rooms if any(board.refusal(room, need) is None for need in wanted)]
    sum_of = amounts.total(need.requests for need in wanted)
    has = amounts.total(room.node.room for room in willing)
    for name in _lack(sum_of, has):
        several = "all nodes together have"
        machine = f"{_this(willing[0], willing, len(rooms))} has" if len(willing) == 1 else several
        text = f"needs {_amount(name, sum_of[name])} for its {len(wanted)} pods"
        words = f"{text}, {machine} {amounts.written(name, has.get(name, 0))}"
        return Reason(words, ("never", name), lasting=True)
    return None


def _not_along(need: Need) -> str:
    return (
        "no node fits its pod affinity" if need.attract else "no node is apart from pods it must not be near"
    )


# --- not yet ------------------------------------------------------------------------------------------------


def _for_now(wanted: Sequence[Need], rooms: Sequence[Room], board: Board, head: Candidate | None) -> Reason:
    fitting, missing = _tried(wanted, board)
    if missing is None:
        words = f"{head.name} is first in line and needs the room" if head else "others are first in line"
        return Reason(words, ("turn",))
    words, sign = _busy(missing, _willing(missing, rooms, board), board, fitting)
    of_all = f"{len(fitting)} of {len(wanted)} pods fit; " if len(wanted) > 1 else ""
    return Reason(f"{of_all}{words}", sign)


def _tried(wanted: Sequence[Need], board: Board) -> tuple[list[Need], Need | None]:
    """Which of them find a place as things are, and the first that does not."""
    fitting: list[Need] = []
    missing = None
    for need in gangs.biggest_first(wanted):
        spot = board.spot(need)
        if spot is None:
            missing = missing or need
        else:
            board.put(need, spot.node)
            fitting.append(need)
    for need in fitting:
        board.take(need.uid)
    return fitting, missing


def _busy(
    need: Need, willing: Sequence[Room], board: Board, mates: Sequence[Need]
) -> tuple[str, tuple[str, ...]]:
    taken = amounts.total(mate.requests for mate in mates)
    best = min(willing, key=lambda room: len(_lack(need.requests, _left(room, taken))))
    left = _left(best, taken)
    lack = _lack(need.requests, left)
    if not lack:
        return "no node is free of pods it must not be near, or has those it must be near", ("along",)
    name = lack[0]
    short = amounts.written(name, need.requests[name] - max(0, left.get(name, 0)))
    users = _users(best, name)
    where = "" if len(willing) == 1 else f" on {best.node.name}"
    in_use = f"in use{where} by {users}" if users else f"not free{where}"
    return f"{short} of {amounts.written(name, need.requests[name])} {name} {in_use}", ("busy", name)


def _left(room: Room, taken: Amounts) -> Amounts:
    left = dict(room.free)
    amounts.subtract(left, taken)
    return left


def _users(room: Room, name: str) -> str:
    """Who has how much of it, the largest first."""
    by_owner: Amounts = {}
    for need in room.pods.values():
        if need.requests.get(name):
            amounts.add(by_owner, {f"{need.namespace}/{need.owner or need.name}": need.requests[name]})
    largest = sorted(by_owner.items(), key=lambda item: (-item[1], item[0]))
    return _listed(f"{owner} ({amounts.written(name, amount)})" for owner, amount in largest)


# --- words --------------------------------------------------------------------------------------------------


def _lack(wanted: Amounts, has: Amounts) -> list[str]:
    """What there is too little of; devices first, since they are what people ask for by name."""
    short = [name for name, amount in wanted.items() if amount > has.get(name, 0) and _is_counted(name, has)]
    return sorted(short, key=lambda name: ("/" not in name, name))


def _is_counted(name: str, has: Amounts) -> bool:
    return name in has or name in ("cpu", "memory") or "/" in name


def _amount(name: str, amount: int) -> str:
    return f"{name} {amounts.written(name, amount)}"


def _this(room: Room, among: Sequence[Room], nodes: int) -> str:
    """How to call a node that is the only one, the only one in question, or the best of several."""
    if len(among) > 1:
        return f"the largest node ({room.node.name})"
    return "this machine" if nodes == 1 else f"node {room.node.name}"


def _listed(parts: Iterable[str]) -> str:
    found = list(parts)
    more = len(found) - _MOST_NAMED
    return ", ".join(found[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
