"""Whether the data folder can be used, and how good its disk is: one attempt to write, three lines."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from trainshed.compose import capabilities, trouble
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.findings import Finding, State

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_OTHER = "choose another folder with --data-dir or TRAINSHED_HOME"


def examine(folder: DataFolder) -> list[Finding]:
    place = capabilities.nearest_existing(folder.root)
    try:
        seconds, error = capabilities.sync_seconds(place), None
    except OSError as refusal:
        seconds, error = None, refusal
    if error is not None and error.errno not in _NO_SPACE:
        return [_unusable(folder, place, error), *_not_looked_at()]
    return [_usable(folder), _space(place, is_full=error is not None), _speed(seconds)]


def _unusable(folder: DataFolder, place: Path, error: OSError) -> Finding:
    if place.is_dir():
        what = trouble.from_os(error, place)
        found, fix = what.message, what.hint
    else:
        found, fix = f"{place} is not a folder", _OTHER
    meaning = f"the control plane cannot keep its state in {folder.root}"
    return Finding("data folder", "missing", found, meaning, fix, essential=True)


def _not_looked_at() -> list[Finding]:
    why = "not looked at: see data folder"
    return [
        Finding(name, "limited", why, "it is not known while the data folder cannot be used")
        for name in ("disk space", "disk speed")
    ]


def _usable(folder: DataFolder) -> Finding:
    # Imported here: of all commands only this one looks into the store, and only where there is one.
    from trainshed.apiserver import stored

    obstacle = stored.obstacle(folder.root)
    if obstacle is None:
        return Finding("data folder", "ok", str(folder.root), essential=True)
    meaning = "the control plane does not start with it"
    return Finding("data folder", "missing", obstacle.what, meaning, obstacle.hint, essential=True)


def _space(place: Path, *, is_full: bool) -> Finding:
    free = 0 if is_full else shutil.disk_usage(place).free
    found = f"{free / 2**30:.1f} GiB free"
    if free > 2**30:
        return Finding("disk space", "ok", found, essential=True)
    state: State = "limited" if free > 64 * 2**20 else "missing"
    meaning = "logs and stored objects find no room" if is_full else "there is little room for them"
    return Finding("disk space", state, found, meaning, "free some space", essential=True)


def _speed(seconds: float | None) -> Finding:
    """Every acknowledged write waits for one sync, so its time is the floor of every write's latency."""
    if seconds is None:
        return Finding("disk speed", "limited", "not measured: no space left", "see disk space")
    found = f"{seconds * 1000:.1f} ms per durable write"
    if seconds < 0.02:
        return Finding("disk speed", "ok", found)
    meaning = "each write to the API takes at least that long"
    return Finding("disk speed", "limited", found, meaning, "put the data folder on a local SSD")
