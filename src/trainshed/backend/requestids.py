"""A name for each request, in its answer and in the log: the caller's where it is harmless, else made."""

from __future__ import annotations

import re
import secrets

from starlette.types import Scope

HEADER = "X-Request-ID"
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{8,64}")


def of(scope: Scope) -> str:
    """The id of a request; the same one for as long as the request lasts."""
    state = scope.setdefault("state", {})
    if "request_id" not in state:
        state["request_id"] = _given(scope) or secrets.token_hex(8)
    found: str = state["request_id"]
    return found


def _given(scope: Scope) -> str:
    for name, value in scope.get("headers") or ():
        if name == b"x-request-id":
            text = value.decode("latin-1")
            return text if _HARMLESS.fullmatch(text) else ""
    return ""
