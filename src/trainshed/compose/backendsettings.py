"""The table [backend] of the settings file, as tomllib gives it; pure. ValueError names the key.

[backend]
port = 8000
bind = "127.0.0.1"
rate_per_second = 50
max_upload_bytes = 33554432
[backend.presets.small]
description = "one node, two cores"
cpu = "2"
memory = "4Gi"
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from trainshed.backend.settings import Preset, Settings
from trainshed.kube import names, quantities
from trainshed.kube.objects import JSON, Object

_NUMBERS = {
    "max_code_bytes": (1, 1 << 20),
    "max_body_bytes": (1 << 10, 1 << 30),
    "max_upload_bytes": (1 << 10, 1 << 30),
    "rate_burst": (1, 1_000_000),
}
_SECONDS = ("rate_per_second", "sweep_seconds", "orphan_seconds", "grace_seconds")
_ADDRESS = ("bind", "port", "cert", "key")
_KEYS = (*_ADDRESS, "create_namespaces", *_NUMBERS, *_SECONDS, "presets")
_PRESET = tuple(field.name for field in dataclasses.fields(Preset))


def parsed(table: JSON) -> Settings:
    _only(table, "backend", _KEYS)
    address(table)
    ours = [key for key in table if key not in (*_ADDRESS, "presets")]
    values: dict[str, JSON] = {key: _checked(key, table[key]) for key in ours}
    presets = table.get("presets", {})
    _only(presets, "backend.presets", None)
    made = {name: _preset(f"backend.presets.{name}", name, preset) for name, preset in presets.items()}
    return dataclasses.replace(Settings(), **values, presets=MappingProxyType(made))


@dataclass(frozen=True, slots=True)
class Address:
    """Where the backend of `trainshed up` listens."""

    host: str = "127.0.0.1"
    port: int | None = None
    """None: the last one, at first 8000, else any."""
    certificate: tuple[str, str] | None = None

    @property
    def is_near(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def address(table: Object) -> Address:
    """Elsewhere than on this machine tokens travel encrypted or not at all."""
    words = {key: table[key] for key in ("bind", "cert", "key") if key in table}
    for key, value in words.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"backend.{key} must be a text, not {value!r}")
    if ("cert" in words) != ("key" in words):
        raise ValueError("backend.cert and backend.key belong together")
    port = _whole("backend.port", table["port"], 0, 65535) if "port" in table else None
    pair = (words["cert"], words["key"]) if "cert" in words else None
    found = Address(words.get("bind", "127.0.0.1"), port, pair)
    if not found.is_near and pair is None:
        raise ValueError(f"backend.bind {found.host!r} is not this machine only: it needs cert and key")
    return found


def _only(table: JSON, where: str, known: tuple[str, ...] | None) -> None:
    if not isinstance(table, dict):
        raise ValueError(f"{where} must be a table, not {table!r}")
    for key in table:
        if known is not None and key not in known:
            raise ValueError(f"{where}.{key} is not a setting; there are {', '.join(known)}")


def _checked(key: str, value: JSON) -> JSON:
    where = f"backend.{key}"
    if key in _NUMBERS:
        return _whole(where, value, *_NUMBERS[key])
    if key in _SECONDS:
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{where} must be a number that is not negative, not {value!r}")
        return float(value)
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be true or false, not {value!r}")
    return value


def _whole(where: str, value: JSON, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{where} must be a whole number from {least} to {most}, not {value!r}")
    return value


def _preset(where: str, name: str, table: JSON) -> Preset:
    if why := names.dns_label(name):
        raise ValueError(f"{where}: {why}")
    _only(table, where, _PRESET)
    return Preset(**dict(_preset_fields(where, table)))


def _preset_fields(where: str, table: Object) -> Iterator[tuple[str, JSON]]:
    for key, value in table.items():
        if key in ("cpu", "memory"):
            yield key, _amount(f"{where}.{key}", value)
        elif key == "description":
            yield key, str(value)
        else:
            yield key, _whole(f"{where}.{key}", value, 1 if key == "num_nodes" else 0, 1000)


def _amount(where: str, value: JSON) -> str:
    try:
        if isinstance(value, bool) or quantities.parse(value) <= 0:
            raise ValueError("it must be positive")
        return str(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where} must be a quantity such as 8 or 16Gi, not {value!r} ({error})") from error
