"""What goes back to a client: whole answers, streamed ones, and faults as Status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from trainshed.kube.faults import Fault
from trainshed.kube.objects import Object, encode
from trainshed.store.records import Record

if TYPE_CHECKING:
    from trainshed.apiserver.http.duplex import Duplex

JSON_TYPE = b"application/json"
PART_BYTES = 128 * 1024
"""About as much as is sent at once of a long answer: it stays in the processor's cache on its way."""
_END = b"]}\n"


class Answer(msgspec.Struct):
    """A whole answer; `headers` are extra ones beside content type and length."""

    body: bytes
    status: int = 200
    content_type: bytes = JSON_TYPE
    headers: list[tuple[bytes, bytes]] = []
    more: Iterable[bytes] = ()
    """What follows `body`, made while the client reads what came before."""
    more_length: int = 0


class Stream(msgspec.Struct):
    """An answer sent piece by piece, flushed at once; the iterator is closed when the client leaves."""

    pieces: AsyncIterator[bytes]
    content_type: bytes = JSON_TYPE
    headers: list[tuple[bytes, bytes]] = []


class Upgrade(msgspec.Struct):
    """A switch to another protocol: `run` gets the bare connection, which ends when it returns.

    It writes the first bytes itself, the `101` included; see `http.websockets.accept`.
    """

    run: Callable[[Duplex], Coroutine[None, None, None]]


Result = Answer | Stream | Upgrade


class Pending(msgspec.Struct):
    """An answer that a write has yet to earn: `finish` makes it once `future` is there, without a task."""

    future: asyncio.Future[Record]
    finish: Callable[[Record], Answer]


def of(obj: Object, status: int = 200) -> Answer:
    return Answer(encode(obj), status)


def of_fault(fault: Fault) -> Answer:
    answer = Answer(encode(fault.status()), fault.code)
    if fault.retry_after is not None:
        answer.headers.append((b"retry-after", str(fault.retry_after).encode()))
    if fault.code == 401:
        answer.headers.append((b"www-authenticate", b'Bearer realm="trainshed"'))
    return answer


def warning_headers(warnings: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """`Warning: 299 - "text"` for each; control characters and quotes made harmless, 4 KiB at most."""
    return [(b"warning", _warning(text)) for text in dict.fromkeys(warnings)]


def _warning(text: str) -> bytes:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)[:4096]
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'.encode()


def success(message: str = "", details: Object | None = None) -> Object:
    body: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if message:
        body["message"] = message
    if details:
        body["details"] = details
    return body


def joined_list(
    kind: str, api_version: str, metadata: Object, values: Sequence[bytes], skip: int = 0
) -> Answer:
    """A list built by joining stored bytes: nothing is decoded or encoded again.

    Of each value the first `skip` bytes become one brace. A long list is joined part by part as it is sent.
    """
    start = f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":'.encode()
    head = b'%b%b,"items":[' % (start, encode(metadata))
    brace = b"{" if skip else b""
    length = sum(map(len, values)) + len(values) * (len(brace) - skip + 1) - bool(values) + len(_END)
    parts = _joined(values, skip, brace, max(1, PART_BYTES * len(values) // length))
    if length <= PART_BYTES:
        return Answer(head + b"".join(parts))
    return Answer(head, more=parts, more_length=length)


def _joined(values: Sequence[bytes], skip: int, brace: bytes, at_once: int) -> Iterator[bytes]:
    before, between = brace, b"," + brace
    for start in range(0, len(values), at_once):
        some = values[start : start + at_once]
        yield before + between.join([value[skip:] for value in some] if skip else some)
        before = between
    yield _END
