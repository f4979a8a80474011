"""What the API server asks of a node agent, as both write it on the agent's socket.

A request is one message on `HEAD`, answered by a `Reply` on `HEAD`; then data flows on the channels that
`kubectl exec` knows, until `STATUS`; a connection that ends without one has broken off.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

SOCKET = "agent.sock"
"""Its name in the data folder."""

STDIN, STDOUT, STDERR, STATUS, RESIZE = range(5)
HEAD, MARK = 16, 17
"""The request and its reply; where a log that is followed goes on behind what is sent next.

The first one says where it begins. Told behind it, a reader whose agent died in between would get it twice.
"""
CLOSE = 255
"""One byte: the channel on which nothing more will come."""


class Mark(msgspec.Struct, frozen=True):
    """A place in a container's log, good for as long as its file is there."""

    attempt: int
    file: int
    offset: int


class Logs(msgspec.Struct, frozen=True, tag="logs", omit_defaults=True):
    namespace: str
    pod: str
    uid: str
    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None
    resume: Mark | None = None
    """Go on behind this; `since` and `tail` say nothing then."""


class Exec(msgspec.Struct, frozen=True, tag="exec", omit_defaults=True):
    namespace: str
    pod: str
    uid: str
    container: str
    command: tuple[str, ...]
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


class Attach(msgspec.Struct, frozen=True, tag="attach", omit_defaults=True):
    namespace: str
    pod: str
    uid: str
    container: str
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


class Forward(msgspec.Struct, frozen=True, tag="forward", omit_defaults=True):
    """One connection to a port of the pod: `STDIN` leads into it, `STDOUT` out of it."""

    namespace: str
    pod: str
    uid: str
    port: int


Request = Logs | Exec | Attach | Forward


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether the request is being served; a `reason` as a Status has it when it is not."""

    reason: str = ""
    message: str = ""


class Ended(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a command ended: its exit code, or why there is none."""

    code: int = 0
    trouble: str = ""


class Size(msgspec.Struct, frozen=True, rename="pascal"):
    """A terminal's size, as kubectl writes it."""

    width: int = 0
    height: int = 0


_requests = msgspec.json.Decoder(Request)
_replies = msgspec.json.Decoder(Reply)
_ends = msgspec.json.Decoder(Ended)
_marks = msgspec.json.Decoder(Mark)
_sizes = msgspec.json.Decoder(Size)
encode = msgspec.json.encode


def read_request(data: bytes) -> Request:
    """Raises `ValueError` with the field that is wrong."""
    found: Request = _requests.decode(data)
    return found


def read_reply(data: bytes) -> Reply:
    return _replies.decode(data)


def read_mark(data: bytes) -> Mark:
    return _marks.decode(data)


def read_ended(data: bytes) -> Ended:
    return _ends.decode(data)


def read_size(data: bytes) -> Size | None:
    """None for what is no size."""
    try:
        found = _sizes.decode(data)
    except ValueError:
        return None
    return found if 0 < found.width < 1 << 16 and 0 < found.height < 1 << 16 else None
