"""Looking at a container's tree from outside, before it exists: links are followed as they will be inside."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Mapping, Sequence
from typing import Literal

_MOST_LINKS = 40


class View:
    """A tree and the volumes mounted over it; `parts` of the tree may be elsewhere. As (inside, here)."""

    def __init__(self, tree: str, parts: Sequence[tuple[str, str]] = ()) -> None:
        self._tree, self._parts = tree, parts
        self._volumes: list[tuple[str, str]] = []

    def mount(self, inside: str, here: str) -> None:
        """Over all that was mounted before."""
        self._volumes.append((inside, here))

    def is_volume(self, inside: str) -> bool:
        return any(_is_within(inside, target) for target, _ in self._volumes)

    def here(self, inside: str) -> str:
        """Where a place of the container, free of links, is for us."""
        for target, source in reversed((*self._parts, *self._volumes)):
            if _is_within(inside, target):
                rest = inside[len(target) :].lstrip("/")
                return os.path.join(source, rest) if rest else source
        return self._tree.rstrip("/") + inside

    def resolve(self, path: str) -> str:
        """The same place without links; parts that do not exist stay as they are."""
        todo = posixpath.normpath(path).lstrip("/").split("/")
        done = "/"
        for _ in range(_MOST_LINKS * len(todo)):
            if not todo:
                break
            name = todo.pop(0)
            if name in ("", ".", ".."):
                done = posixpath.dirname(done) if name == ".." else done
                continue
            step = posixpath.join(done, name)
            link = _link(self.here(step))
            if link is None:
                done = step
                continue
            todo = [*link.split("/"), *todo]
            done = "/" if link.startswith("/") else done
        return posixpath.join(done, *todo)

    def look(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(self.here(self.resolve(path)))
        except OSError:
            return None


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def trouble_with_command(view: View, argv: Sequence[str], env: Mapping[str, str], workdir: str) -> str | None:
    """Why the command cannot be run, in the words other runtimes use; None when nothing speaks against it."""
    if not argv or not argv[0]:
        return "no command specified"
    name = argv[0]
    if "/" in name:
        return _trouble_with_file(view, name, posixpath.join(workdir, name))
    for folder in env.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":"):
        place = posixpath.join(workdir, folder, name)
        if _verdict(view, place) == "good":
            return _trouble_with_interpreter(view, name, place)
    return f'exec: "{name}": executable file not found in $PATH'


def is_program(view: View, path: str) -> bool:
    return _verdict(view, path) == "good"


def _trouble_with_file(view: View, name: str, place: str) -> str | None:
    verdict = _verdict(view, place)
    if verdict != "good":
        return f'exec: "{name}": {verdict}'
    return _trouble_with_interpreter(view, name, place)


def _verdict(
    view: View, place: str
) -> Literal["good", "no such file or directory", "is a directory", "permission denied"]:
    found = view.look(place)
    if found is None:
        return "no such file or directory"
    if stat.S_ISDIR(found.st_mode):
        return "is a directory"
    return "good" if found.st_mode & 0o111 else "permission denied"


def _trouble_with_interpreter(view: View, name: str, place: str) -> str | None:
    try:
        with open(view.here(view.resolve(place)), "rb") as file:
            first = file.read(256).partition(b"\n")[0]
    except OSError:
        return None
    words = first[2:].split()
    if not first.startswith(b"#!") or not words:
        return None
    interpreter = os.fsdecode(words[0])
    if _verdict(view, interpreter) == "good":
        return None
    return f'exec: "{name}": its interpreter {interpreter} does not exist'
