"""Where manifests come from: files, folders, standard input, git repositories of this machine, overlays."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trainshed.jobs import kustomizing, manifests, repositories
from trainshed.jobs.manifests import STDIN, CannotRead, Parsed


def gather(
    named: Sequence[str], overlays: Sequence[str] = (), *, recursive: bool = False
) -> list[manifests.Parsed]:
    """All documents of what was named, in that order. Raises `CannotRead` for a source that is not there."""
    found = [parsed for source in named for parsed in _named(source, recursive)]
    return found + [parsed for source in overlays for parsed in _overlay(source)]


def _named(source: str, recursive: bool) -> Iterator[Parsed]:
    if source == STDIN:
        yield from manifests.parse(manifests.content(Path(STDIN)), "standard input")
    elif source.startswith(("http://", "https://")):
        hint = f"fetch it yourself: curl -sSL {source} and then apply -f - with what it gives"
        raise CannotRead(f"{source} is not on this machine", hint)
    else:
        with _local(source) as (path, shown):
            for file in _files(path, shown, recursive):
                yield from manifests.parse(manifests.content(file), _shown(file, path, shown))
            for wrong in manifests.unfit(Path(path), recursive=recursive):
                yield replace(wrong, origin=_shown(Path(wrong.origin), path, shown))


def _overlay(source: str) -> Iterator[Parsed]:
    """What kustomize makes of a folder; other URLs than those of this machine are its own to fetch."""
    with _local(source) as (path, shown):
        there = Path(path)
        if there.is_file():
            raise CannotRead(
                f"{shown} is a file", "-k takes the folder of a kustomization.yaml, -f takes files"
            )
        yield from manifests.parse(kustomizing.build(path), f"kustomize {shown}")


@contextmanager
def _local(source: str) -> Iterator[tuple[str, str]]:
    """A path that can be read now, and how people know it."""
    place = repositories.find(source)
    if place is None:
        path = repositories.plain(source)
        yield path, path
        return
    with tempfile.TemporaryDirectory(prefix="trainshed-") as folder:
        yield str(repositories.unpack(place, Path(folder))), source


def _files(path: str, shown: str, recursive: bool) -> list[Path]:
    place = Path(path)
    found = manifests.files(place, recursive=recursive)
    if not found and not manifests.unfit(place, recursive=recursive):
        below = "" if recursive else "those of folders in it are read with -R"
        raise CannotRead(f'there are no {", ".join(manifests.SUFFIXES)} files in "{shown}"', below)
    return found


def _shown(file: Path, path: str, shown: str) -> str:
    if path == shown:
        return str(file)
    inside = file.relative_to(path) if file != Path(path) else Path()
    return f"{shown}: {inside}" if inside.parts else shown
