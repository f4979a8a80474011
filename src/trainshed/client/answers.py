"""From an HTTP answer to an object or a fault; pure, the counterpart of `requests`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from trainshed.kube import faults
from trainshed.kube.objects import JSON, Object, decode

_WARNING = re.compile(r'(\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LONGEST_EXCERPT = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer; header names are lower-case, repeated headers keep all their values."""

    code: int
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body: bytes = b""

    def header(self, name: str) -> str:
        return ", ".join(self.headers.get(name.lower(), ()))


def read(answer: Answer) -> JSON:
    """The JSON a successful answer carries; raises the `Fault` that any other one describes."""
    if not 200 <= answer.code < 300:
        raise fault(answer)
    try:
        return decode(answer.body)
    except ValueError as broken:
        raise faults.InternalError(f"the server answered {answer.code} without JSON") from broken


def read_object(answer: Answer) -> Object:
    found = read(answer)
    if not isinstance(found, dict):
        raise faults.InternalError(f"the server answered with a {type(found).__name__} instead of an object")
    return found


def fault(answer: Answer) -> faults.Fault:
    """The fault behind any unsuccessful answer, whether or not its body is a Status."""
    found = faults.from_status(_status_or_text(answer), answer.code)
    if found.retry_after is None:
        found.retry_after = retry_after(answer)
    return found


def retry_after(answer: Answer) -> int | None:
    """Seconds the server asks us to stay away; the form with a date is not used by API servers."""
    text = answer.header("Retry-After").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def warnings(headers: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """The texts of `Warning: 299 - "text"` headers, several per line or one per line."""
    for line in headers.get("warning", ()):
        for code, _agent, text in _WARNING.findall(line):
            if code == "299":
                yield _ESCAPED.sub(r"\1", text)


def with_type(obj: Object, api_version: str, kind: str) -> Object:
    """The object with its type filled in: items of built-in lists come without."""
    return obj if "kind" in obj else {"apiVersion": api_version, "kind": kind, **obj}


def _status_or_text(answer: Answer) -> JSON:
    try:
        found = decode(answer.body)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.get("kind") == "Status":
        return found
    text = " ".join(answer.body.decode(errors="replace").split())
    return f"HTTP {answer.code}: {text[:_LONGEST_EXCERPT]}" if text else f"HTTP {answer.code}"
