"""Everything that can go wrong in the API, one tree, one table; it survives the trip over the wire.

    Fault                        code  reason
    ├── BadRequest                400  BadRequest
    ├── Unauthorized              401  Unauthorized
    ├── Forbidden                 403  Forbidden
    ├── NotFound                  404  NotFound
    ├── MethodNotAllowed          405  MethodNotAllowed
    ├── NotAcceptable             406  NotAcceptable
    ├── AlreadyExists             409  AlreadyExists
    ├── Conflict                  409  Conflict
    ├── Gone                      410  Gone
    ├── Expired                   410  Expired
    ├── TooLarge                  413  RequestEntityTooLarge
    ├── UnsupportedMediaType      415  UnsupportedMediaType
    ├── Invalid                   422  Invalid
    ├── TooManyRequests           429  TooManyRequests
    ├── InternalError             500  InternalError
    ├── Unavailable               503  ServiceUnavailable
    └── Timeout                   504  Timeout

The server raises these and renders `status()`; the client reads a Status with `from_status`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from trainshed.kube.objects import JSON, Object, dig, encode


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a Status's details.causes."""

    reason: str
    message: str
    field: str = ""

    def body(self) -> Object:
        full = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in full.items() if value}


class Fault(Exception):
    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        group: str = "",
        name: str = "",
        uid: str = "",
        causes: Sequence[Cause] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind, self.group, self.name, self.uid = kind, group, name, uid
        self.causes = tuple(causes)
        self.retry_after = retry_after

    def status(self) -> Object:
        """The `Status` object a client receives."""
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if details := self._details():
            body["details"] = details
        body["code"] = self.code
        return body

    def _details(self) -> Object:
        details: Object = {"name": self.name, "group": self.group, "kind": self.kind, "uid": self.uid}
        details = {key: value for key, value in details.items() if value}
        if self.causes:
            details["causes"] = [cause.body() for cause in self.causes]
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        return details


class BadRequest(Fault):
    code, reason = 400, "BadRequest"


class Unauthorized(Fault):
    code, reason = 401, "Unauthorized"


class Forbidden(Fault):
    code, reason = 403, "Forbidden"


class NotFound(Fault):
    code, reason = 404, "NotFound"


class MethodNotAllowed(Fault):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(Fault):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(Fault):
    code, reason = 409, "AlreadyExists"


class Conflict(Fault):
    code, reason = 409, "Conflict"


class Gone(Fault):
    code, reason = 410, "Gone"


class Expired(Fault):
    code, reason = 410, "Expired"


class TooLarge(Fault):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(Fault):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(Fault):
    code, reason = 422, "Invalid"


class TooManyRequests(Fault):
    code, reason = 429, "TooManyRequests"


class InternalError(Fault):
    code, reason = 500, "InternalError"


class Unavailable(Fault):
    code, reason = 503, "ServiceUnavailable"


class Timeout(Fault):
    code, reason = 504, "Timeout"


CLASSES: tuple[type[Fault], ...] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, AlreadyExists, Conflict,
    Gone, Expired, TooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, Unavailable,
    Timeout,
)  # fmt: skip
_BY_REASON = {cls.reason: cls for cls in CLASSES}
_BY_CODE = {cls.code: cls for cls in reversed(CLASSES)}


def from_status(status: JSON, code: int = 500) -> Fault:
    """The fault a Status describes; works on anything a server may have sent instead of one."""
    if not isinstance(status, dict):
        return _class_for("", code)(str(status) or f"HTTP {code}")
    found = _class_for(str(status.get("reason") or ""), _integer(status.get("code")) or code)
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    return found(
        str(status.get("message") or f"HTTP {code}"),
        kind=str(details.get("kind") or ""),
        group=str(details.get("group") or ""),
        name=str(details.get("name") or ""),
        uid=str(details.get("uid") or ""),
        causes=[_cause(item) for item in details.get("causes") or [] if isinstance(item, dict)],
        retry_after=_integer(dig(status, "details", "retryAfterSeconds")),
    )


def _class_for(reason: str, code: int) -> type[Fault]:
    return (
        _BY_REASON.get(reason) or _BY_CODE.get(code) or (BadRequest if 400 <= code < 500 else InternalError)
    )


def _cause(item: Object) -> Cause:
    return Cause(*(str(item.get(key) or "") for key in ("reason", "message", "field")))


def _integer(value: JSON) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


NAMESPACE_TERMINATING = "NamespaceTerminating"


def in_leaving_namespace(error: Exception) -> bool:
    """Whether the namespace takes nothing new: it is going, and so is all that is in it."""
    return isinstance(error, Fault) and any(cause.reason == NAMESPACE_TERMINATING for cause in error.causes)


def is_unserved(error: Exception) -> bool:
    """Whether the address itself was not found: nobody serves the kind."""
    return isinstance(error, NotFound) and not error.kind and not error.name


# --- field errors -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of one field; validation collects all of them."""

    reason: str
    field: str
    text: str

    def cause(self) -> Cause:
        return Cause(self.reason, self.text, self.field)

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


def required(field: str, why: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, f"Required value{': ' + why if why else ''}")


def invalid(field: str, value: JSON, why: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {why}")


def unsupported(field: str, value: JSON, allowed: Sequence[str]) -> FieldError:
    listed = ", ".join(shown(item) for item in allowed)
    return FieldError(
        "FieldValueNotSupported", field, f"Unsupported value: {shown(value)}: supported values: {listed}"
    )


def forbidden(field: str, why: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {why}")


def duplicate(field: str, value: JSON) -> FieldError:
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def not_found(field: str, value: JSON) -> FieldError:
    return FieldError("FieldValueNotFound", field, f"Not found: {shown(value)}")


def too_long(field: str, most: int) -> FieldError:
    unit = "byte" if most == 1 else "bytes"
    return FieldError("FieldValueTooLong", field, f"Too long: may not be more than {most} {unit}")


def too_many(field: str, count: int, most: int) -> FieldError:
    unit = "item" if most == 1 else "items"
    return FieldError("FieldValueTooMany", field, f"Too many: {count}: must have at most {most} {unit}")


def wrong_type(field: str, value: JSON, why: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, f"Invalid value: {shown(value)}: {why}")


def shown(value: JSON) -> str:
    """A bad value as Kubernetes prints it: JSON, objects and lists only when short."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = encode(value).decode()
    return text if len(text) <= 512 else text[:509] + "..."


def refuse(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> Invalid:
    """The 422 for a set of field errors, worded as the real server words it."""
    texts = [str(error) for error in errors]
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    typed = f"{kind}.{group}" if group else kind
    return Invalid(
        f'{typed} "{name}" is invalid: {joined}',
        kind=kind,
        group=group,
        name=name,
        causes=[error.cause() for error in errors],
    )
