"""Server-sent events as bytes; pure.

A frame's id says where in the spool the next one begins, so a follower that comes back with it misses nothing
and sees nothing twice.
"""

from __future__ import annotations

import re

from trainshed.kube.objects import JSON, encode

HEARTBEAT = b": still here\n\n"
RETRY = b"retry: 1000\n\n"
END = b"\n\n"
BEGIN = b"id: "
_ID = re.compile(r"([0-9a-f]{16})-([0-9a-f]{12})", re.ASCII)


def event_id(generation: str, place: int) -> str:
    return f"{generation}-{place:012x}"


def frame(event: str, body: JSON, generation: str, start: int) -> bytes:
    """An event that begins at a place in the spool."""
    rest = f"event: {event}\ndata: ".encode() + encode(body) + END
    length = len(BEGIN) + len(event_id(generation, 0)) + 1 + len(rest)
    return BEGIN + event_id(generation, start + length).encode() + b"\n" + rest


def event(name: str, body: JSON, id: str = "") -> bytes:
    """An event outside a spool; without an id it leaves a follower's place as it is."""
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {name}\ndata: ".encode() + encode(body) + END


def read_id(text: str) -> tuple[str, int] | None:
    """Generation and place of an id; None for what is none."""
    found = _ID.fullmatch(text)
    return (found[1], int(found[2], 16)) if found else None


def whole(block: bytes) -> bytes:
    """The frames of a block that are complete."""
    return block[: block.rfind(END) + len(END)] if END in block else b""
