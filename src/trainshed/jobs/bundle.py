"""A working folder as the files of a ConfigMap: what is sent, what is left out, and whether it fits."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import itertools
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from trainshed.kube.objects import Object

MOST_BYTES = 900 * 1024
"""Of a ConfigMap's 1 MiB, so that names and encoding fit too."""
MOST_FILES = 2000
IGNORE_FILE = ".trainshedignore"
_NEVER = ("__pycache__", "*.pyc", "node_modules", "venv", "*.egg-info")
_KEY = "pki/ca.key"
_MARKS = (_KEY, "store/store.db", "kubeconfig")
"""What a data folder of ours is known by: there are keys and tokens in it, which are nobody's code."""


class CannotBundle(Exception):
    """The folder cannot be sent; the message says why, the hint what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class File:
    path: str
    """Relative, with slashes."""
    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Bundle:
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        return sum(len(file.content) for file in self.files)

    @property
    def digest(self) -> str:
        total = hashlib.sha256()
        for file in self.files:
            total.update(f"{file.path}\0{len(file.content)}\0{file.executable}\0".encode())
            total.update(file.content)
        return total.hexdigest()


def collect(folder: Path, script: str, data: Path | None = None) -> Bundle:
    """The files of a folder: what git knows or would, else all that is not hidden; the script in any case.

    Nothing out of a data folder: that in use is `data`, others are known by what is in them.
    """
    names = sorted({script, *_chosen(folder, data)})
    total = _check(folder, names)
    if total > MOST_BYTES:
        raise _too_large(folder, names, total)
    return Bundle(tuple(_read(folder, name) for name in names))


def keys(bundle: Bundle) -> list[tuple[str, File]]:
    """A ConfigMap key for each file: its path where that is a valid key, else a number nobody has."""
    taken = {file.path for file in bundle.files}
    numbers = (name for name in (f"file-{number}" for number in itertools.count()) if name not in taken)
    return [(file.path if _is_key(file.path) else next(numbers), file) for file in bundle.files]


def content(bundle: Bundle) -> Object:
    """`data` and `binaryData` of the ConfigMap."""
    text: dict[str, str] = {}
    binary: dict[str, str] = {}
    for key, file in keys(bundle):
        try:
            text[key] = file.content.decode()
        except UnicodeDecodeError:
            binary[key] = base64.b64encode(file.content).decode()
    return {"data": text, "binaryData": binary} if binary else {"data": text}


def items(bundle: Bundle) -> list[Object]:
    """Where each key lies in the volume."""
    return [
        {"key": key, "path": file.path, "mode": 0o755 if file.executable else 0o644}
        for key, file in keys(bundle)
    ]


# --- choosing -----------------------------------------------------------------------------------------------


def _chosen(folder: Path, data: Path | None) -> Iterator[str]:
    ignored = [*_NEVER, *_ignore_lines(folder)]
    names = _git_files(folder) or [*_walk(folder)]
    secret = (*_below(folder, data), *_secrets(folder, names))
    for name in names:
        is_secret = name.startswith(secret) or f"/{name}".endswith(f"/{_KEY}")
        if not _matches(name, ignored) and not is_secret and _is_file(folder / name):
            yield name


def _is_file(path: Path) -> bool:
    """Not one behind a link to where we may not look."""
    try:
        return path.is_file()
    except OSError:
        return False


def _below(folder: Path, data: Path | None) -> Iterator[str]:
    """The way to the data folder, with a slash at its end, where it lies below this one."""
    if data is not None and folder.resolve() in data.resolve().parents:
        yield f"{data.resolve().relative_to(folder.resolve()).as_posix()}/"


def _secrets(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """Folders that are not sent. The disk is asked, for git may be told to ignore some of the marks."""
    for place in _places(names):
        if sum((folder / place / mark).is_file() for mark in _MARKS) > 1:
            yield place


def _places(names: Sequence[str]) -> set[str]:
    """All folders on the way to any of the files, with a slash at their end; also the one they are in."""
    near = {name.rpartition("/")[0] for name in names}
    above = {str(parent) for place in near for parent in PurePosixPath(place, "x").parents}
    return {"" if place == "." else f"{place}/" for place in above}


def _ignore_lines(folder: Path) -> list[str]:
    file = folder / IGNORE_FILE
    if not file.is_file():
        return []
    lines = [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    return [line.rstrip("/") for line in lines if line and not line.startswith("#")]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    parts = PurePosixPath(name).parts
    return any(
        fnmatch.fnmatch(part, pattern) or fnmatch.fnmatch(name, pattern)
        for pattern in patterns
        for part in parts
    )


def _git_files(folder: Path) -> list[str]:
    """Tracked and new files that .gitignore does not exclude; empty where git cannot tell."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name] if done.returncode == 0 else []


def _walk(folder: Path) -> Iterator[str]:
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and not _matches(name, _NEVER)]
        for name in names:
            if not name.startswith("."):
                count += 1
                if count > 20 * MOST_FILES:
                    return
                yield str(PurePosixPath(Path(root, name).relative_to(folder)))


# --- checking -----------------------------------------------------------------------------------------------

_SEND_LESS = f"name what to leave out in {IGNORE_FILE}, or use --git or --volume for it"


def _check(folder: Path, names: Sequence[str]) -> int:
    for name in names:
        if not name.isprintable():
            raise CannotBundle(f"{folder} has a file whose name is not text: {name!a}", _SEND_LESS)
    if len(names) > MOST_FILES:
        raise CannotBundle(f"{folder} has {len(names)} files, more than {MOST_FILES}", _SEND_LESS)
    return sum((folder / name).stat().st_size for name in names)


def _too_large(folder: Path, names: Sequence[str], total: int) -> CannotBundle:
    sizes = sorted(((folder / name).stat().st_size, name) for name in names)[-3:]
    largest = ", ".join(f"{name} ({size / 1024:.0f} KiB)" for size, name in reversed(sizes))
    return CannotBundle(
        f"{folder} has {total / 1024:.0f} KiB, more than the {MOST_BYTES // 1024} KiB that can be sent;"
        f" the largest: {largest}",
        _SEND_LESS,
    )


def _read(folder: Path, name: str) -> File:
    path = folder / name
    try:
        return File(name, path.read_bytes(), os.access(path, os.X_OK))
    except OSError as refused:
        raise CannotBundle(f"cannot read {path}: {refused.strerror}", _SEND_LESS) from refused


def _is_key(text: str) -> bool:
    allowed = all(character.isascii() and (character.isalnum() or character in "-_.") for character in text)
    return allowed and 0 < len(text) <= 253 and text not in (".", "..")


def copied(volume: str, target: str) -> str:
    """Shell text that copies the files out of a volume; what begins with `..` is the kubelet's own."""
    return f"cp -RL {volume}/. {target}/ && rm -rf {target}/..?*"
