"""String functions of rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from trainshed.kube.cel.values import NO_OVERLOAD, EvaluationError, Type
from trainshed.kube.objects import JSON, encode

_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_LONGEST: Final = 1 << 22
"""No function may make a longer string than this."""


def text(value: JSON) -> str:
    if not isinstance(value, str):
        raise EvaluationError(NO_OVERLOAD)
    return value


def whole(value: JSON) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise EvaluationError(NO_OVERLOAD)
    return value


def string(value: JSON) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return repr(value).removesuffix(".0")
        case bytes():
            return value.decode(errors="replace")
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case timedelta():
            return f"{value.total_seconds():.9f}".rstrip("0").rstrip(".") + "s"
    raise EvaluationError(NO_OVERLOAD)


def quote(value: JSON) -> str:
    return encode(text(value)).decode()


def index_of(value: JSON, wanted: JSON, start: JSON = 0) -> int:
    if not 0 <= whole(start) <= len(text(value)):
        raise EvaluationError(f"index out of range: {start}")
    return value.find(text(wanted), start)  # type: ignore[no-any-return]  # text() has just said it is a str


def last_index_of(value: JSON, wanted: JSON) -> int:
    return text(value).rfind(text(wanted))


def _char_at(value: JSON, index: JSON) -> str:
    if not 0 <= whole(index) <= len(text(value)):
        raise EvaluationError(f"index out of range: {index}")
    return text(value)[index : index + 1]


def _replace(value: JSON, old: JSON, new: JSON, most: JSON = -1) -> str:
    count = text(value).count(text(old)) if whole(most) < 0 else most
    if len(text(value)) + count * len(text(new)) > _LONGEST:
        raise EvaluationError("result is too long")
    return text(value).replace(old, new, most)


def _split(value: JSON, separator: JSON, most: JSON = -1) -> list[str]:
    if whole(most) == 0:
        return []
    if text(separator) == "":
        parts = list(text(value))
        return parts if most < 0 else [*parts[: most - 1], "".join(parts[most - 1 :])]
    return text(value).split(separator, most - 1 if most > 0 else -1)


def _substring(value: JSON, start: JSON, end: JSON = None) -> str:
    stop = len(text(value)) if end is None else whole(end)
    if not 0 <= whole(start) <= stop <= len(text(value)):
        raise EvaluationError(f"index out of range: {start if start > stop else stop}")
    return text(value)[start:stop]


def _join(value: JSON, separator: JSON = "") -> str:
    if not isinstance(value, list):
        raise EvaluationError(NO_OVERLOAD)
    if sum(map(len, map(text, value))) + len(value) * len(text(separator)) > _LONGEST:
        raise EvaluationError("result is too long")
    return text(separator).join(value)


_VERB: Final = re.compile(r"%(%|(?:\.([0-9]{1,2}))?([a-zA-Z]))")


def _format(value: JSON, arguments: JSON) -> str:
    if not isinstance(arguments, list):
        raise EvaluationError(NO_OVERLOAD)
    given = iter(arguments)

    def shown(found: re.Match[str]) -> str:
        if found[1] == "%":
            return "%"
        try:
            return _verb(found[3], int(found[2] or 6), next(given))
        except StopIteration:
            raise EvaluationError("index out of range in format arguments") from None

    return _VERB.sub(shown, text(value))


def _verb(verb: str, precision: int, value: JSON) -> str:
    match verb:
        case "s":
            return _plain(value)
        case "d":
            return str(whole(value))
        case "f" if isinstance(value, int | float):
            return f"{value:.{precision}f}"
        case "e" if isinstance(value, int | float):
            return f"{value:.{precision}e}"
        case "b":
            return f"{whole(value):b}"
        case "o":
            return f"{whole(value):o}"
        case "x" | "X":
            return value.encode().hex() if isinstance(value, str) else f"{whole(value):{verb}}"
    raise EvaluationError(f"unrecognized formatting clause: {verb}")


def _plain(value: JSON) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(item)}" for key, item in sorted(value.items())) + "}"
    if isinstance(value, Type):
        return value.name
    return "null" if value is None else string(value)


METHODS: Final[Mapping[str, Callable[..., JSON]]] = {
    "contains": lambda value, part: text(part) in text(value),
    "startsWith": lambda value, part: text(value).startswith(text(part)),
    "endsWith": lambda value, part: text(value).endswith(text(part)),
    "charAt": _char_at, "replace": _replace, "split": _split, "substring": _substring, "join": _join,
    "lowerAscii": lambda value: text(value).translate(_LOWER),
    "upperAscii": lambda value: text(value).translate(_UPPER),
    "trim": lambda value: text(value).strip(), "format": _format,
    "reverse": lambda value: text(value)[::-1],
}  # fmt: skip
