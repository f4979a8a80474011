"""Why a gang waits, in words that name exactly what is missing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from trainshed.controllers.scheduler import amounts, gangs, placing
from trainshed.controllers.scheduler.amounts import Amounts
from trainshed.controllers.scheduler.board import Board, Room
from trainshed.controllers.scheduler.gangs import Candidate, Whole
from trainshed.controllers.scheduler.needs import Need
from trainshed.controllers.scheduler.nodes import Node, Refusal

_MOST_NAMED = 4
_PASSING = ("cordoned", "not ready")
_NEARER = ("label", "affinity", "taint", *_PASSING)
"""What keeps a pod off a node, by how little is missing."""
_STRANGERS = "other namespaces"


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


def never(whole: Whole, board: Board) -> Reason | None:
    """Why a gang would have no place even with all its pods: so nobody waits for these first."""
    rooms = [room for room in board.rooms.values() if room.node.is_known]
    if not rooms or any(need.relaxed for need in whole.kinds):
        return None
    found = _too_demanding(whole.kinds, rooms, board) or _too_many(whole, rooms, board)
    # Pods that come later are to be told, too.
    return replace(found, sign=(*found.sign, str(whole.there))) if found and found.lasting else None


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
    whole = Whole(len(wanted), len(wanted), amounts.total(need.requests for need in wanted), (*wanted,))
    if found := _too_demanding(wanted, rooms, board) or _too_many(whole, rooms, board):
        return found
    if not placing.could_run(candidate, board):
        return _not_together(wanted, rooms, board)
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


def _too_demanding(wanted: Iterable[Need], rooms: Sequence[Room], board: Board) -> Reason | None:
    """One of them would have no place anywhere."""
    found = (_refused(need, rooms, board) or _too_large(need, rooms, board) for need in wanted)
    return next((reason for reason in found if reason is not None), None)


def _refused(need: Need, rooms: Sequence[Room], board: Board) -> Reason | None:
    """No node takes such a pod, whatever is free."""
    refusals = [(room.node, refusal) for room in rooms if (refusal := board.refusal(room, need))]
    if len(refusals) < len(rooms):
        return None
    node, refusal = max(refusals, key=lambda one: _NEARER.index(one[1].why))
    lasting = refusal.why not in _PASSING
    return Reason(_refusal_words(node, refusal, refusals), ("refused", refusal.why), lasting)


def _refusal_words(node: Node, refusal: Refusal, of_all: Sequence[tuple[Node, Refusal]]) -> str:
    match refusal.why:
        case "label":
            return _unlabelled(of_all)
        case "affinity":
            both = "nodeSelector and " if any(other.why == "label" for _, other in of_all) else ""
            there = _listed(one.name for one, _ in of_all)
            return f"no node fits its {both}node affinity {refusal.what}; nodes: {there}"
        case "taint":
            return f"node {node.name} has taint {refusal.what}, which it does not tolerate"
        case "cordoned":
            return f"node {node.name} is cordoned; kubectl uncordon {node.name} lets pods in again"
        case "not ready":
            return f"node {node.name} is not ready{f': {refusal.what}' if refusal.what else ''}"


def _unlabelled(refusals: Sequence[tuple[Node, Refusal]]) -> str:
    """Each node lacks one of these, if not all the same one."""
    wanted = list(dict.fromkeys(refusal.what for _, refusal in refusals))
    keys = [label.partition("=")[0] for label in wanted]
    there = _listed(f"{node.name} ({', '.join(_label(node, key) for key in keys)})" for node, _ in refusals)
    return f"no node has label{'s' if len(wanted) > 1 else ''} {' and '.join(wanted)}; nodes: {there}"


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


def _too_many(whole: Whole, rooms: Sequence[Room], board: Board) -> Reason | None:
    """All nodes that would take one of them have too little for all together."""
    wanted, sum_of = whole.kinds, whole.total
    willing = [room for room in rooms if any(board.refusal(room, need) is None for need in wanted)]
    has = amounts.total(room.node.room for room in willing)
    for name in _lack(sum_of, has):
        text = f"needs {_amount(name, sum_of[name])} for its {whole.size} pods"
        more, lasting = _elsewhere(name, wanted[0], rooms, willing, board)
        words = f"{text}, {_together(willing, rooms)} {amounts.written(name, has.get(name, 0))}{more}"
        return Reason(words, ("never", name, "unwilling" if more else ""), lasting)
    return None


def _together(willing: Sequence[Room], rooms: Sequence[Room]) -> str:
    if len(willing) == 1:
        return f"{_this(willing[0], willing, len(rooms))} has"
    return "all nodes together have" if len(willing) == len(rooms) else "the nodes it may use have"


def _elsewhere(
    name: str, need: Need, rooms: Sequence[Room], willing: Sequence[Room], board: Board
) -> tuple[str, bool]:
    """A node that has some of it and takes none of the pods, in words; and whether it will stay so."""
    others = [room for room in rooms if room not in willing and room.node.room.get(name)]
    if not others:
        return "", True
    most = max(others, key=lambda room: room.node.room[name])
    refusal = board.refusal(most, need)
    amount = amounts.written(name, most.node.room[name])
    more = f"; node {most.node.name} has {amount} more, but {_but(refusal)}" if refusal else ""
    return more, refusal is None or refusal.why not in _PASSING


def _not_together(wanted: Sequence[Need], rooms: Sequence[Room], board: Board) -> Reason:
    if len(wanted) == 1:
        return Reason(_not_along(wanted[0]), ("together",), lasting=True)
    more, lasting = _unwilling(wanted[0], rooms, board)
    return Reason(f"its pods do not fit together, even on empty nodes{more}", ("together",), lasting)


def _not_along(need: Need) -> str:
    return (
        "no node fits its pod affinity" if need.attract else "no node is apart from pods it must not be near"
    )


# --- not yet ------------------------------------------------------------------------------------------------


def _for_now(wanted: Sequence[Need], rooms: Sequence[Room], board: Board, head: Candidate | None) -> Reason:
    fitting, missing = _tried(wanted, board)
    try:
        if missing is None:
            return Reason(_turn(wanted[0], head), ("turn",))
        words, sign = _busy(missing, _willing(missing, rooms, board), {need.uid for need in fitting})
    finally:
        for need in fitting:
            board.take(need.uid)
    of_all = f"{len(fitting)} of {len(wanted)} pods fit; " if len(wanted) > 1 else ""
    return Reason(f"{of_all}{words}", sign)


def _turn(need: Need, head: Candidate | None) -> str:
    if head is None:
        return "others are first in line"
    is_near = all(one.namespace == need.namespace for one in head.required)
    return f"{head.name if is_near else 'a job of another namespace'} is first in line and needs the room"


def _tried(wanted: Sequence[Need], board: Board) -> tuple[list[Need], Need | None]:
    """Which of them find a place as things are, and the first that does not. The former are on the board."""
    fitting: list[Need] = []
    missing = None
    for need in gangs.biggest_first(wanted):
        spot = board.spot(need)
        if spot is None:
            missing = missing or need
        else:
            board.put(need, spot.node)
            fitting.append(need)
    return fitting, missing


def _busy(need: Need, willing: Sequence[Room], mates: AbstractSet[str]) -> tuple[str, tuple[str, ...]]:
    """Which node comes nearest to having room, and who else is there; `mates` are of the same gang."""
    large = [room for room in willing if not _lack(need.requests, room.node.room)]
    best = min(large, key=lambda room: _distance(need, room, mates))
    lack = _lack(need.requests, best.free)
    if not lack:
        return "no node is free of pods it must not be near, or has those it must be near", ("along",)
    name = lack[0]
    free = amounts.written(name, max(0, best.free.get(name, 0)))
    of_all = amounts.written(name, best.node.room.get(name, 0))
    where = "" if len(willing) == 1 else f" on {best.node.name}"
    words = f"needs {_amount(name, need.requests[name])}, {free} of {of_all} free{where}"
    return f"{words}; {_users(best, name, mates, need.namespace)}", ("busy", name)


def _distance(need: Need, room: Room, mates: AbstractSet[str]) -> tuple[int, int]:
    """How much is missing on a node: kinds of things, then whether those that fit are all who have them.

    They stay where they are: who the job waits for is on another node.
    """
    lack = _lack(need.requests, room.free)
    others = (one for uid, one in room.pods.items() if uid not in mates)
    return len(lack), 0 if any(one.requests.get(name) for one in others for name in lack) else 1


def _users(room: Room, name: str, mates: AbstractSet[str], home: str) -> str:
    """Who has how much of it, the largest first: `default/a has 2, default/b 1`.

    Whoever works in one namespace may not know what there is in others.
    """
    by_owner: Amounts = {}
    for uid, need in room.pods.items():
        if (amount := need.requests.get(name)) and uid not in mates:
            owner = f"{home}/{need.owner or need.name}" if need.namespace == home else _STRANGERS
            amounts.add(by_owner, {owner: amount})
    users = sorted(by_owner.items(), key=lambda item: (-item[1], item[0]))
    if own := sum(room.pods[uid].requests.get(name, 0) for uid in mates if uid in room.pods):
        users.insert(1, ("this job", own))
    return _listed(
        f"{owner} {'' if at else _has(owner)}{amounts.written(name, amount)}"
        for at, (owner, amount) in enumerate(users)
    )


def _has(owner: str) -> str:
    return "have " if owner == _STRANGERS else "has "


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
