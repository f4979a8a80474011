"""ConfigMaps."""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import mapping
from trainshed.kube.faults import forbidden, invalid, too_long
from trainshed.kube.objects import JSON, Object, dig, holds_only_texts

MOST_BYTES: Final = 1024 * 1024


def defaults(config: Object) -> None:
    """As Go reads it: no data is no field, a key without a value has an empty one."""
    for name in ("data", "binaryData"):
        if config.get(name, 0) in (None, {}):
            del config[name]
        values = mapping(config, name)
        if None in values.values():
            config[name] = {key: "" if value is None else value for key, value in values.items()}


def errors(config: Object, old: Object | None) -> Errors:
    data, binary = mapping(config, "data"), mapping(config, "binaryData")
    found: Errors = []
    if old is not None and dig(old, "immutable") is True:
        found += frozen(config, old, ("data", "binaryData"))
    found += key_errors("data", data)
    if binary:
        found += key_errors("binaryData", binary)
        for key in data.keys() & binary.keys():
            found.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        found += base64_errors("binaryData", binary)
    return [*found, too_long("", MOST_BYTES)] if _is_too_large(data, binary) else found


def _is_too_large(data: Object, binary: Object) -> bool:
    # No letter takes more than four bytes: nearly all maps are done here.
    if not binary and holds_only_texts(data) and 4 * sum(map(len, data.values())) <= MOST_BYTES:
        return False
    return sum(map(text_size, data.values())) + sum(map(decoded_size, binary.values())) > MOST_BYTES


def frozen(new: Object, old: Object, parts: tuple[str, ...]) -> Errors:
    """What may not change any more once `immutable` was set (Secrets share it)."""
    why = "field is immutable when `immutable` is set"
    found = [] if new.get("immutable") is True else [forbidden("immutable", why)]
    return found + [forbidden(name, why) for name in parts if not checks.same(new.get(name), old.get(name))]


def key_errors(field: str, data: Object) -> Errors:
    return [invalid(f"{field}[{key}]", key, why) for key in data for why in checks.config_key_faults(key)]


def base64_errors(field: str, data: Object) -> Errors:
    why = "must be base64"
    return [
        invalid(f"{field}[{key}]", "<redacted>", why) for key, value in data.items() if decoded(value) is None
    ]


def decoded(value: JSON) -> bytes | None:
    """The bytes behind base64 text; None where it is something else. Line breaks are fine, as in Go."""
    try:
        return b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (AttributeError, ValueError, TypeError):
        return None


def decoded_size(value: JSON) -> int:
    return len(decoded(value) or b"")


def text_size(value: JSON) -> int:
    if not isinstance(value, str):
        return 0
    return len(value) if value.isascii() else len(value.encode(errors="replace"))


RULES = Rules(defaults=defaults, validate=errors, has_generation=False)
