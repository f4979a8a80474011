"""Where volumes in memory lie: those that ask for it, and all with secrets in them, as on a cluster.

One folder for each agent, below /dev/shm, that nobody else may enter; it goes with the agent. Where there is
none to be had, the pods' own folders serve. Containers may share a /dev/shm, but not the files beside it: the
same path may be another's folder there, and one that is not to be seen here may be in use. The records an
engine keeps of its runs lie there in the same way.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

_SHARED_MEMORY = Path("/dev/shm")
_PREFIX = "trainshed-"
_FIRST_ORDINARY_USER = 1000
_OWNER = "of"
"""In the folder: the agent's, by its view of files and its folder of pods; a link, as that is made in one."""


def folder(own: Path) -> Path:
    """That of one pod, by the folder it has on disk."""
    root = _root(own.parent)
    return root / own.name if root is not None else own / "volumes"


def lend(folder: Path, name: str) -> None:
    """Let a folder below another lie in memory, behind a link; on disk where there is none to be had.

    For what comes and goes with each pod and means nothing after a reboot.
    """
    link = folder / name
    if link.is_dir() and not link.is_symlink():  # of a former life
        return
    root = _root(folder)
    if root is not None:
        (root / name).mkdir(exist_ok=True)
    if link.is_symlink() and (root is None or os.readlink(link) != str(root / name)):
        link.unlink()  # of a folder that was moved or copied
    if root is not None and not link.is_symlink():
        link.symlink_to(root / name)


def left(pods: Path) -> set[str]:
    """The uids of pods that have something there."""
    root = _found(pods)
    return {entry.name for entry in root.iterdir() if entry.is_dir()} if root is not None else set()


def remove(own: Path) -> None:
    """Nothing of one pod stays; nor is a folder made for that, where an agent has cleared it already."""
    root = _found(own.parent)
    if root is not None:
        shutil.rmtree(root / own.name, ignore_errors=True)


def clear(pods: Path) -> None:
    """Nothing of an agent's pods stays."""
    root = _found(pods)
    if root is not None:
        shutil.rmtree(root, ignore_errors=True)
    _place.cache_clear()  # the next folder at this path is another one


def clear_forsaken() -> None:
    """What is left of agents whose folders were taken away."""
    for root in _SHARED_MEMORY.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if _is_ours(root) and _is_forsaken(root):
                shutil.rmtree(root, ignore_errors=True)


def _is_forsaken(root: Path) -> bool:
    view, slash, pods = os.readlink(root / _OWNER).partition("/")
    if view != _view():
        return False
    try:
        return _named(Path(slash + pods)) != root
    except FileNotFoundError:
        return True


def _root(pods: Path) -> Path | None:
    try:
        root = _place(pods)
        if not root.exists() and is_cleared_at_logout(os.geteuid()):
            return None
        root.mkdir(mode=0o700)
    except FileExistsError:
        return _found(pods)
    except OSError:
        return None
    with suppress(OSError):  # no room for it: then nobody but the agent clears it
        (root / _OWNER).symlink_to(f"{_view()}{pods.resolve()}")
    return root


def is_cleared_at_logout(user: int, system: Path = Path("/")) -> bool:
    """Whether systemd removes what an ordinary user has there with the last session, in use or not."""
    if user < _FIRST_ORDINARY_USER or not (system / "run/systemd/system").is_dir():
        return False
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        return False
    return not (system / "var/lib/systemd/linger" / name).exists()


def _found(pods: Path) -> Path | None:
    """Where it is there and ours; anybody may make a folder of this name."""
    try:
        root = _place(pods)
    except OSError:
        return None
    return root if _is_ours(root) else None


@cache
def _place(pods: Path) -> Path:
    return _named(pods)


def _named(pods: Path) -> Path:
    """Raises `OSError` where there is no such folder of pods."""
    found = pods.stat()
    known = f"{found.st_dev} {found.st_ino} {pods.resolve()}"
    return _SHARED_MEMORY / f"{_PREFIX}{hashlib.blake2b(os.fsencode(known), digest_size=8).hexdigest()}"


def _view() -> str:
    return os.readlink("/proc/self/ns/mnt")


def _is_ours(root: Path) -> bool:
    try:
        found = root.lstat()
    except OSError:
        return False
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return is_private and found.st_uid == os.geteuid()
