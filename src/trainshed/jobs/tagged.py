"""A merged object as YAML, each line with where it came from beside it; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from trainshed.kube.objects import JSON, Object

Path = tuple[str | int, ...]
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
_NEEDS_QUOTES = ("true", "false", "null", "yes", "no", "on", "off", "~")


def lines(value: Object, origins: Mapping[Path, str]) -> list[tuple[str, str]]:
    """Lines of YAML and the origin of each; empty for lines that only hold others together."""
    return list(_mapping(value, origins, (), 0))


def _mapping(value: Object, origins: Mapping[Path, str], path: Path, depth: int) -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        yield from _entry(f"{'  ' * depth}{_key(key)}:", inner, origins, (*path, key), depth)


def _entry(
    head: str, value: JSON, origins: Mapping[Path, str], path: Path, depth: int
) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        yield head, ""
        yield from _mapping(value, origins, path, depth + 1)
    elif isinstance(value, list) and value:
        yield head, ""
        yield from _list(value, origins, path, depth)
    elif isinstance(value, str) and _is_script(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}", origins.get(path, "")
        for line in value.rstrip("\n").split("\n"):
            yield f"{'  ' * (depth + 1)}{line}", ""
    else:
        yield f"{head} {_scalar(value)}", origins.get(path, "")


def _list(
    value: list[JSON], origins: Mapping[Path, str], path: Path, depth: int
) -> Iterator[tuple[str, str]]:
    for index, item in enumerate(value):
        inner = (*path, index)
        if isinstance(item, dict) and item:
            rows = list(_mapping(item, origins, inner, depth + 1))
            first, origin = rows[0]
            yield f"{'  ' * depth}- {first.lstrip()}", origin
            yield from rows[1:]
        else:
            yield from _entry(f"{'  ' * depth}-", item, origins, inner, depth + isinstance(item, list))


def _is_script(value: str) -> bool:
    """Several lines that YAML can show as they are."""
    body = value.removesuffix("\n")
    return (
        "\n" in body
        and not body.endswith("\n")
        and body[0] not in " \n"
        and body.isascii()
        and _is_shown(body)
    )


def _is_shown(body: str) -> bool:
    return all(line.isprintable() for line in body.split("\n"))


def _key(key: str) -> str:
    return _scalar(key)


def _scalar(value: JSON) -> str:
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _NEEDS_QUOTES
        return value if plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
