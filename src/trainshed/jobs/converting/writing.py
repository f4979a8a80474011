"""Objects as YAML to be read by people: in the order they have, each line with the paths it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from trainshed.jobs.converting.parcels import Path
from trainshed.kube import documents
from trainshed.kube.objects import JSON

_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    paths: tuple[Path, ...] = ()
    """What begins on it; nothing on lines that go on with a text."""

    @property
    def indent(self) -> str:
        return self.text[: len(self.text) - len(self.text.lstrip(" "))]


def lines(value: JSON) -> list[Line]:
    if isinstance(value, dict) and value:
        return list(_mapping(value, (), ""))
    if isinstance(value, list) and value:
        return list(_sequence(value, (), ""))
    return [Line(_scalar(value))]


def _mapping(value: dict[str, JSON], path: Path, indent: str) -> Iterator[Line]:
    for key, inner in value.items():
        yield from _entry(f"{indent}{_text(key)}:", inner, (*path, key), indent)


def _entry(head: str, value: JSON, path: Path, indent: str) -> Iterator[Line]:
    if isinstance(value, dict) and value:
        yield Line(head, (path,))
        yield from _mapping(value, path, indent + _INDENT)
    elif isinstance(value, list) and value and not _is_short(value):
        yield Line(head, (path,))
        yield from _sequence(value, path, indent)
    elif isinstance(value, str) and _is_script(value):
        yield from _script(head, value, path, indent + _INDENT)
    else:
        yield Line(f"{head} {_scalar(value)}", (path,))


def _sequence(value: list[JSON], path: Path, indent: str) -> Iterator[Line]:
    for index, item in enumerate(value):
        inner = (*path, index)
        if isinstance(item, dict) and item:
            first, *others = _mapping(item, inner, indent + _INDENT)
            text = f"{indent}- {first.text.removeprefix(indent + _INDENT)}"
            yield replace(first, text=text, paths=(inner, *first.paths))
            yield from others
        else:
            yield from _entry(f"{indent}-", item, inner, indent + _INDENT * isinstance(item, list))


def _script(head: str, value: str, path: Path, indent: str) -> Iterator[Line]:
    body = value.rstrip("\n")
    ends = len(value) - len(body)
    yield Line(f"{head} |{('-', '', '+')[min(ends, 2)]}", (path,))
    for line in value.split("\n")[: len(body.split("\n")) + max(0, ends - 1)]:
        yield Line(f"{indent}{line}" if line else "")


def _is_script(value: str) -> bool:
    """Several lines that YAML can show as they are."""
    return (
        "\n" in value
        and value.strip("\n") != ""
        and value[0] not in " \n\t"
        and all(line.isprintable() or line.replace("\t", "").isprintable() for line in value.split("\n"))
    )


def _is_short(value: list[JSON]) -> bool:
    """Numbers stand beside each other; a hundred lines of them tell nobody anything."""
    return len(value) > 1 and all(type(item) is int for item in value)


def _scalar(value: JSON) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(_scalar(item) for item in value)}]"
    return "{}" if value == {} else documents.write_yaml(value).decode().removesuffix("...\n").strip()


def _text(value: str) -> str:
    """In one line, quoted where it has to be."""
    from trainshed.kube import yamlwriter

    return yamlwriter.one_line(value)
