"""An HTTP request as the API reads it: query with Kubernetes' booleans, and the target its path names."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import parse_qs, unquote

import msgspec

from trainshed.apiserver.access.identity import Identity
from trainshed.kube import faults


class Query:
    """Query parameters; the first value wins except where `all` asks for every one."""

    __slots__ = ("_values",)

    def __init__(self, text: bytes) -> None:
        self._values: Mapping[str, Sequence[str]] = {}
        if text:
            try:
                self._values = _remembered(text) if len(text) <= _SHORT else _parsed(text)
            except ValueError as error:
                raise faults.BadRequest(f"the query string cannot be read: {error}") from error

    def get(self, name: str, default: str = "") -> str:
        found = self._values.get(name)
        return found[0] if found else default

    def all(self, name: str) -> Sequence[str]:
        return self._values.get(name, ())

    def has(self, name: str) -> bool:
        return name in self._values

    def flag(self, name: str) -> bool:
        """False only if absent, `0` or any-case `false`: Kubernetes reads every other value as true."""
        found = self._values.get(name)
        return found is not None and found[0].lower() not in ("0", "false")

    def integer(self, name: str) -> int | None:
        text = self.get(name)
        if not text:
            return None
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise faults.BadRequest(
                f'strconv.ParseInt: parsing "{text[:64]}": invalid syntax (parameter {name})'
            )
        return int(text)


def _parsed(text: bytes) -> Mapping[str, Sequence[str]]:
    return parse_qs(text.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=200)


_SHORT = 256
_remembered = lru_cache(maxsize=1024)(_parsed)
"""The same client sends the same few queries."""


class Target(msgspec.Struct, frozen=True):
    """What a resource path names; empty strings where it names nothing."""

    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """What follows the subresource (`proxy/…`)."""
    watch: bool = False
    """True for the old `/watch/` spelling."""


@lru_cache(maxsize=4096)
def parse_target(path: str) -> Target | None:
    """The target of `/api/v1/…` or `/apis/group/version/…` (raw, still escaped); None for any other path."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) >= 2:
        return _inner("", parts[1], parts[2:])
    if parts[0] == "apis" and len(parts) >= 3:
        return _inner(parts[1], parts[2], parts[3:])
    return None


def _inner(group: str, version: str, parts: list[str]) -> Target:
    watch = bool(parts) and parts[0] == "watch" and len(parts) > 1
    if watch:
        parts = parts[1:]
    if not parts:
        return Target(group, version)
    namespace = ""
    # A namespace itself and its subresources have precedence over collections inside it.
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    elif parts[0] == "namespaces" and len(parts) >= 2:
        namespace = parts[1]
    padded = [*parts, "", "", ""]
    return Target(group, version, padded[0], namespace, padded[1], padded[2], "/".join(parts[3:]), watch)


class Request:
    """One request; query and headers are parsed when asked for, the body is bounded beforehand."""

    __slots__ = (
        "_headers", "_query", "began", "body", "method", "path", "raw_headers", "raw_query", "target",
        "upgrade", "user", "verb", "warnings",
    )  # fmt: skip

    def __init__(self, method: str, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.method, self.path, self.raw_query, self.raw_headers = method, path, query, headers
        self.body = b""
        self.upgrade = b""
        """The protocol the client would rather speak, in lower case."""
        self.warnings: list[str] = []
        self.began = time.time()
        # Filled in as they become known, for the audit log.
        self.user: Identity | None = None
        self.verb = ""
        self.target: Target | None = None
        self._query: Query | None = None
        self._headers: dict[bytes, bytes] | None = None

    @property
    def query(self) -> Query:
        if self._query is None:
            self._query = Query(self.raw_query)
        return self._query

    @property
    def headers(self) -> Mapping[bytes, bytes]:
        if self._headers is None:
            self._headers = dict(self.raw_headers)
        return self._headers

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def content_type(self) -> str:
        return self.header(b"content-type")

    @property
    def user_agent(self) -> str:
        return self.header(b"user-agent")

    def field_manager(self) -> str:
        """The writer's name in managedFields: what it says, else its user agent up to the first slash."""
        given = self.query.get("fieldManager")
        if given:
            if len(given) > 128 or not given.isprintable():
                why = (
                    "may not be more than 128 bytes"
                    if len(given) > 128
                    else "should only contain printable characters"
                )
                raise faults.refuse(
                    "CreateOptions", "meta.k8s.io", "", [faults.invalid("fieldManager", given[:128], why)]
                )
            return given
        return _manager_of(self.user_agent.split("/", 1)[0])


def _manager_of(agent: str) -> str:
    if not agent.isprintable():
        agent = "".join(letter for letter in agent if letter.isprintable())
    return agent[:128] or "unknown"
