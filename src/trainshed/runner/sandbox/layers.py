"""The private writable layer of each container, and the tree it is part of.

A layer that nothing was written to is used again: making and removing its folders costs more than the mounts.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trainshed.runner.sandbox import syscalls
from trainshed.runner.sandbox.base import Base, Entry


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder with: `root` the tree, `tmp` its /tmp, and for each overlay its `u`pper and `w`ork folder."""

    path: str

    @property
    def tree(self) -> str:
        return f"{self.path}/root"

    @property
    def tmp(self) -> str:
        return f"{self.path}/tmp"

    def upper(self, number: int) -> str:
        return f"{self.path}/u{number}"

    def work(self, number: int) -> str:
        return f"{self.path}/w{number}"

    def make(self) -> None:
        if not os.path.isdir(self.path):
            for folder, mode in ((self.path, 0o700), (self.tree, 0o755), (self.tmp, 0o1777)):
                os.mkdir(folder)
                os.chmod(folder, mode)

    def place(self, base: Base, lower: str, inside: str, *, is_folder: bool) -> None:
        """Make a file or folder of the tree before the overlays are laid, so in their upper folders.

        An ordinary user could not make it afterwards: in an overlay, the host's folders stay root's.
        """
        number, folder = self._overlay_of(base, inside)
        top = self.tree if number is None else self.upper(number)
        if number is not None:
            with contextlib.suppress(FileExistsError):
                os.mkdir(top)
        rest = inside[len(folder.rstrip("/")) :].strip("/").split("/")
        here, below = top, (lower.rstrip("/") + folder).rstrip("/")
        for name in rest if is_folder else rest[:-1]:
            here, below = f"{here}/{name}", f"{below}/{name}"
            _make_like(here, below if number is not None else "")
        if not is_folder:
            os.close(os.open(f"{here}/{rest[-1]}", os.O_WRONLY | os.O_CREAT, 0o644))

    def _overlay_of(self, base: Base, inside: str) -> tuple[int | None, str]:
        """The number and the folder of the innermost overlay a place is in."""
        found: tuple[int | None, str] = None, "/"
        for number, folder in enumerate(base.overlays):
            if inside.startswith(folder.rstrip("/") + "/") and len(folder) >= len(found[1]):
                found = number, folder
        return found

    def mount(self, base: Base, lower: str = "/", options: str = "") -> list[str]:
        """Lay the overlays in our own mount namespace. The folders that cannot have one are the answer."""
        refused = []
        for number, folder in enumerate(base.overlays):
            for needed in (self.upper(number), self.work(number)):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(needed)
            if not self._overlay(number, folder, lower, options):
                refused.append(folder)
        return refused

    def _overlay(self, number: int, folder: str, lower: str, extra: str) -> bool:
        target = self.tree + folder.rstrip("/")
        below = lower.rstrip("/") + folder
        try:
            os.makedirs(target, exist_ok=True)
            _liken(self.upper(number), below)
            remove(
                f"{self.work(number)}/work/incompat"
            )  # by which the kernel would not take it a second time
            options = f"lowerdir={_escaped(below)},upperdir={_escaped(self.upper(number))}"
            options += f",workdir={_escaped(self.work(number))}{extra}"
            syscalls.mount("overlay", target, "overlay", 0, options)
        except OSError:
            return False
        return True

    def furnish(self, base: Base) -> None:
        """The parts of the tree that are neither overlays nor binds."""
        for folder in (*base.folders, *filter(os.path.isdir, base.binds)):
            os.makedirs(self.tree + folder, exist_ok=True)
        for file in base.binds:
            if not os.path.isdir(file) and not os.path.exists(self.tree + file):
                os.close(os.open(self.tree + file, os.O_WRONLY | os.O_CREAT, 0o644))
        for path, target in base.links:
            with contextlib.suppress(FileExistsError):
                os.symlink(target, self.tree + path)

    def clear_places(self, shown: Iterable[str]) -> None:
        """Remove what was made in /tmp for folders that were shown there, unless something else is in it."""
        here = os.open(self.tmp, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            for path in shown:
                if path.startswith("/tmp/"):
                    with contextlib.suppress(OSError):
                        _remove_empty(here, path.split("/")[2:])
        finally:
            os.close(here)

    def looks(self, base: Base) -> tuple[Look, ...]:
        """What every container finds, and when it changed: rights, marks and times are written, too."""
        found = [self.tmp, *(self.upper(number) for number in range(len(base.overlays)))]
        if "/" not in base.overlays:
            inside = ("", *base.folders, *(path for path, _ in base.links))
            found += [self.tree + path for path in inside]
        return tuple(map(_look, found))

    def is_untouched(self, base: Base, before: tuple[Look, ...], shown: Iterable[str]) -> bool:
        """Whether nothing was written since it looked so, and another container may have it.

        The places in /tmp for what is shown there are cleared.
        """
        try:
            looks_same = self.looks(base) == before
            self.clear_places(shown)
            return looks_same and self._is_empty(base)
        except OSError:  # somebody has tidied up here
            return False

    def _is_empty(self, base: Base) -> bool:
        if os.listdir(self.tmp) or not self.has_empty_uppers(base):
            return False
        if "/" in base.overlays:
            return True
        ours = {*base.overlays, *base.binds, *base.folders, *(path for path, _ in base.links)}
        made = [folder.rstrip("/") for folder in ("/", *base.folders)]
        return all(f"{folder}/{name}" in ours for folder in made for name in os.listdir(self.tree + folder))

    def has_empty_uppers(self, base: Base) -> bool:
        """Not where somebody has taken them away."""
        try:
            return not any(os.listdir(self.upper(number)) for number in range(len(base.overlays)))
        except FileNotFoundError:
            return False


class Look(NamedTuple):
    inode: int
    changed: int


def _look(path: str) -> Look:
    found = os.lstat(path)
    return Look(found.st_ino, found.st_ctime_ns)


def _remove_empty(folder: int, names: Sequence[str]) -> None:
    """The innermost first; never through a link, which the container may have put there."""
    first, *rest = names
    if rest:
        inside = os.open(first, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            _remove_empty(inside, rest)
        finally:
            os.close(inside)
    os.rmdir(first, dir_fd=folder)


def _make_like(folder: str, other: str) -> None:
    """A folder that hides the other one's owner and mode behind the same; a file is not to be hidden."""
    if other and os.path.lexists(other) and not os.path.isdir(other):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), other)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o755)
        if other and os.path.isdir(other):
            _liken(folder, other)


def _liken(folder: str, other: str) -> None:
    """What is made in an upper folder looks like the upper folder."""
    now, wanted = os.stat(folder), os.stat(other)
    if (now.st_uid, now.st_gid) != (wanted.st_uid, wanted.st_gid):
        with contextlib.suppress(PermissionError, OSError):  # an ordinary user's stay its own
            os.chown(folder, wanted.st_uid, wanted.st_gid)
    if now.st_mode != wanted.st_mode:
        os.chmod(folder, stat.S_IMODE(wanted.st_mode))


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def listing(folder: str) -> list[Entry]:
    """The entries of a folder of the host, as far as we may look."""
    try:
        found = list(os.scandir(folder))
    except OSError:
        return []
    return [_entry(one) for one in sorted(found, key=lambda one: one.name)]


def _entry(one: os.DirEntry[str]) -> Entry:
    if one.is_symlink():
        return Entry(one.name, "link", os.readlink(one.path))
    if not one.is_dir(follow_symlinks=False):
        return Entry(one.name, "file")
    return Entry(one.name, "folder" if os.access(one.path, os.R_OK | os.X_OK) else "closed")


def gpu_nodes(devices: str = "/dev") -> tuple[str, ...]:
    names = (entry.name for entry in os.scandir(devices))
    return tuple(sorted(f"{devices}/{name}" for name in names if name.startswith("nvidia") or name == "dxg"))


def remove(path: str) -> None:
    """Remove a file or folder with all in it, also what is closed to us; harmless when there is none."""
    with contextlib.suppress(OSError):
        if not os.path.isdir(path) or os.path.islink(path):
            os.unlink(path)
            return
        for entry in _all_of(path):
            remove(entry)
        os.rmdir(path)


def _all_of(folder: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(folder)]
    except PermissionError:
        os.chmod(folder, 0o700)
        return [entry.path for entry in os.scandir(folder)]
