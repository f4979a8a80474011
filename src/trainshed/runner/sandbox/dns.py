"""Just enough of name queries to pass them on or to turn them down; pure."""

from __future__ import annotations

import re
import struct

_HEADER = 12
_RESPONSE, _RECURSION, _FAILURE, _NO_SUCH_NAME = 0x8000, 0x0080, 2, 3

# Nobody outside knows these: names of pods and services, single words, and who has a private address.
_OURS = re.compile(
    r"^[^.]*$|\.(?:local|localhost|internal|svc)$"
    r"|(?:^|\.)(?:10|127|168\.192|254\.169|(?:1[6-9]|2\d|3[01])\.172)\.in-addr\.arpa$|\.ip6\.arpa$",
    re.IGNORECASE,
)


def question(query: bytes) -> str | None:
    """The name that is asked for; None for what is no query."""
    if len(query) < _HEADER + 5 or query[2] & 0x80 or query[4:6] != b"\0\1":
        return None
    labels, place = [], _HEADER
    while place < len(query) and (length := query[place]):
        if length > 63 or place + 1 + length > len(query):
            return None
        labels.append(query[place + 1 : place + 1 + length].decode("latin-1"))
        place += 1 + length
    return ".".join(labels)


def raw(message: bytes) -> bytes:
    """The question as it is on the wire; an answer to another one was not sent by whom we asked."""
    end = message.find(b"\0", _HEADER)
    return message[_HEADER : end + 5].lower()


def is_ours(name: str) -> bool:
    return bool(_OURS.search(name))


def no_such_name(query: bytes) -> bytes:
    return _reply(query, _NO_SUCH_NAME)


def failure(query: bytes) -> bytes:
    return _reply(query, _FAILURE)


def _reply(query: bytes, code: int) -> bytes:
    """The question back, with a verdict and without what else came with it."""
    end = query.index(b"\0", _HEADER) + 5
    identity, flags = struct.unpack_from("!HH", query)
    header = struct.pack("!HHHHHH", identity, flags & 0x7900 | _RESPONSE | _RECURSION | code, 1, 0, 0, 0)
    return header + query[_HEADER:end]


def servers(resolv: str) -> list[str]:
    """The name servers in a resolv.conf, but for those we cannot speak to."""
    found = [
        line.split()[1] for line in resolv.splitlines() if line.startswith("nameserver") and line.split()[1:]
    ]
    return [address for address in found if ":" not in address]
