"""What goes back to a client: whole answers, streamed ones, and faults as Status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from trainshed.kube.faults import Fault
from trainshed.kube.objects import Object, encode
from trainshed.store.records import Record

if TYPE_CHECKING:
    from trainshed.apiserver.http.duplex import Duplex

JSON_TYPE = b"application/json"


class Answer(msgspec.Struct):
    """A whole answer; `headers` are extra ones beside content type and length."""

    body: bytes
    status: int = 200
    content_type: bytes = JSON_TYPE
    headers: list[tuple[bytes, bytes]] = []


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


def joined_list(kind: str, api_version: str, metadata: Object, items: Sequence[bytes]) -> bytes:
    """A list built by joining stored bytes: nothing is decoded or encoded again."""
    head = f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":'.encode()
    return b"".join((head, encode(metadata), b',"items":[', b",".join(items), b"]}\n"))
