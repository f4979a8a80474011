"""Paths of the host that pods may see: checked, and made where the type says so."""

from __future__ import annotations

from pathlib import Path

from trainshed.runner.volumes.wanted import Host


class WrongPath(Exception):
    """The path is not what the type promises; the message is the real node's."""


def ready(volume: Host) -> str:
    """The path, after what its type asks for; raises `WrongPath`."""
    path = Path(volume.path)
    try:
        _create(path, volume.type)
    except OSError as refused:
        raise WrongPath(f"hostPath {path} cannot be made: {refused.strerror}") from refused
    if volume.type and not _CHECKS[volume.type](path):
        raise WrongPath(f"hostPath type check failed: {path} is not {_WORDS[volume.type]}")
    if not path.exists():
        raise WrongPath(f"hostPath {path} does not exist; create it, or set its type to DirectoryOrCreate")
    return str(path)


def _create(path: Path, type: str) -> None:
    if type == "DirectoryOrCreate":
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif type == "FileOrCreate" and not path.exists():
        path.touch(mode=0o644)


_CHECKS = {
    "Directory": Path.is_dir,
    "DirectoryOrCreate": Path.is_dir,
    "File": Path.is_file,
    "FileOrCreate": Path.is_file,
    "Socket": Path.is_socket,
    "CharDevice": Path.is_char_device,
    "BlockDevice": Path.is_block_device,
}
_WORDS = {
    "Directory": "a directory",
    "DirectoryOrCreate": "a directory",
    "File": "a file",
    "FileOrCreate": "a file",
    "Socket": "a socket file",
    "CharDevice": "a character device",
    "BlockDevice": "a block device",
}
