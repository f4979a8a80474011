"""Writes the files of a volume so that a reader sees all of the old ones or all of the new ones.

The layout is the kubelet's: files lie in a dated folder, `..data` points to it, and each name points through
`..data`; an update swaps that one link. Programs that watch for changes know this layout.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from trainshed.runner.volumes.payloads import Payload

_DATA = "..data"


def write(folder: Path, payload: Payload, dated: str, group: int | None = None) -> bool:
    """Make the folder show exactly these files; False when it already does.

    They belong to the group where this process may give them away; an ordinary user's are their own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = _current(folder)
    if before is not None and _shows(before, payload):
        return False
    fresh = Path(tempfile.mkdtemp(prefix=f"..{dated}.", dir=folder))
    try:
        _fill(fresh, payload, group)
    except OSError as error:  # of what does not fit nothing may stay: it is tried again and again
        shutil.rmtree(fresh, ignore_errors=True)
        raise OSError(error.errno, f"{error.strerror} in {folder}") from error
    _point(folder / _DATA, fresh.name)
    _link_names(folder, payload)
    if before is not None:
        shutil.rmtree(before, ignore_errors=True)
    return True


def _fill(folder: Path, payload: Payload, group: int | None) -> None:
    folder.chmod(0o755)
    for name, file in payload.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        if group is not None and os.geteuid() == 0:
            os.chown(path, -1, group)
        path.chmod(file.mode)


def _current(folder: Path) -> Path | None:
    link = folder / _DATA
    return folder / os.readlink(link) if link.is_symlink() else None


def _shows(folder: Path, payload: Payload) -> bool:
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return there == payload.keys() and all(
        (folder / name).read_bytes() == file.data and (folder / name).stat().st_mode & 0o777 == file.mode
        for name, file in payload.items()
    )


def _point(link: Path, target: str) -> None:
    temporary = link.with_name(f"{link.name}_tmp")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)


def _link_names(folder: Path, payload: Payload) -> None:
    """Users see the first part of each path; names that are no longer there go."""
    wanted = {name.partition("/")[0] for name in payload}
    for path in folder.iterdir():
        if not path.name.startswith("..") and path.name not in wanted:
            path.unlink()
    for name in wanted:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"{_DATA}/{name}")
