"""The table [backend] of the settings file, as tomllib gives it; pure. ValueError names the key.

[backend]
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
_KEYS = ("create_namespaces", *_NUMBERS, *_SECONDS, "presets")
_PRESET = tuple(field.name for field in dataclasses.fields(Preset))


def parsed(table: JSON) -> Settings:
    _only(table, "backend", _KEYS)
    values: dict[str, JSON] = {key: _checked(key, table[key]) for key in table if key != "presets"}
    presets = table.get("presets", {})
    _only(presets, "backend.presets", None)
    made = {name: _preset(f"backend.presets.{name}", name, preset) for name, preset in presets.items()}
    return dataclasses.replace(Settings(), **values, presets=MappingProxyType(made))


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
