"""The files of one run of a container: `0.log`, and `0.log.1`, `0.log.2` … with what is older."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"(\d+)\.log")
_MOST_ROTATIONS = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the logs of one container lie."""

    root: Path
    namespace: str
    pod: str
    uid: str
    container: str

    @property
    def folder(self) -> Path:
        return pod_folder(self.root, self.namespace, self.pod, self.uid) / _part(self.container)

    def run(self, attempt: int) -> Path:
        return self.folder / f"{attempt}.log"

    def attempts(self) -> list[int]:
        """Runs that have left a log, first to last."""
        return attempts_in(self.folder)


def pod_folder(root: Path, namespace: str, pod: str, uid: str) -> Path:
    return root / _part(namespace) / _part(f"{pod}_{uid}")


def attempts_in(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def open_all(newest: Path) -> list[int]:
    """Descriptors of all files there are, newest first; the caller closes them.

    Names are tried from the newest on: a rotation in between moves files to names not yet tried.
    """
    opened: list[int] = []
    seen: set[int] = set()
    for path in _names(newest):
        try:
            found = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            if path == newest:  # in the middle of a rotation, or not begun
                continue
            break
        inode = os.fstat(found).st_ino
        if inode in seen:
            os.close(found)
        else:
            seen.add(inode)
            opened.append(found)
    return opened


def open_newer(newest: Path, than: int) -> int | None:
    """The file that was begun after this one was full; None if there is none yet."""
    inode = os.fstat(than).st_ino
    for _ in range(8):  # as often as rotations may come in between
        names = list(_existing(newest))
        index = next((at for at, path in enumerate(names) if _is(path, inode)), None)
        if index == 0:
            return None
        # A file that was rotated out of existence is followed by the oldest one left.
        wanted = names[index - 1] if index is not None else names[-1] if names else newest
        try:
            found = os.open(wanted, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        if index is None or _is(names[index], inode):
            return found
        os.close(found)
    return None


def _existing(newest: Path) -> Iterator[Path]:
    for path in _names(newest):
        if path == newest or path.exists():
            yield path
        else:
            return


def _names(newest: Path) -> Iterator[Path]:
    yield newest
    for number in range(1, _MOST_ROTATIONS):
        yield newest.with_name(f"{newest.name}.{number}")


def _is(path: Path, inode: int) -> bool:
    try:
        return path.stat().st_ino == inode
    except FileNotFoundError:
        return False


def _part(name: str) -> str:
    """One part of a path; raises `ValueError` for what would lead elsewhere."""
    if not name or "/" in name or "\0" in name or name in (".", "..") or len(name) > 255:
        raise ValueError(f"{name!r} cannot be a folder's name")
    return name
