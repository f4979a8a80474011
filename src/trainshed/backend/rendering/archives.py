"""A zip as files: nothing leaves the folder, nothing is a link, nothing grows beyond what is allowed."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final

from trainshed.backend.rendering import checks, sources
from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable
from trainshed.backend.rendering.wanted import Files
from trainshed.jobs.bundle import MOST_BYTES, MOST_FILES

FIELD: Final = "file"
_PIECE: Final = 64 * 1024
_MOST_ENTRIES: Final = 4 * MOST_FILES
"""Folders are entries too."""
_NOISE: Final = ("__MACOSX", ".DS_Store", "__pycache__", ".git")
_BROKEN: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


def unpacked(data: bytes, *, must_start: bool, most: int = MOST_BYTES, field: str = FIELD) -> Files:
    """The code in a zip; raises `Unacceptable` with what is wrong, `TooLarge` where it is too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = dict(_files(archive, field, most))
    except Unacceptable:
        raise
    except _BROKEN as broken:
        raise Unacceptable(field, f"is not a zip that can be read: {str(broken)[:100]}") from None
    return sources.files(field, _without_top(found), must_start=must_start, most=most)


def _files(archive: zipfile.ZipFile, field: str, most: int) -> Iterator[tuple[str, bytes]]:
    if len(archive.infolist()) > _MOST_ENTRIES:
        raise TooLarge(
            field, f"has {len(archive.infolist())} entries, more than {_MOST_ENTRIES}", sources.ELSEWHERE
        )
    left, seen = most, set()
    for entry in archive.infolist():
        path = _path(field, entry)
        if not path:
            continue
        if path in seen:
            raise Unacceptable(field, f"has the file {checks.shown(path)} twice")
        seen.add(path)
        content = _content(archive, entry, field, left, most)
        left -= len(content)
        yield path, content


def _path(field: str, entry: zipfile.ZipInfo) -> str:
    """Where the entry's file lies; empty for what is no file of the code."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        why = f"{checks.shown(entry.filename)} is a link or a device"
        raise Unacceptable(field, why, "put the files themselves into the zip")
    path = checks.relative(field, entry.filename.rstrip("/"), what="entry")
    is_noise = any(part in _NOISE for part in path.split("/")) or path.endswith(".pyc")
    return "" if entry.is_dir() or is_noise else path


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, field: str, left: int, most: int) -> bytes:
    """Read in pieces, for what a zip says about sizes need not be true."""
    if entry.flag_bits & 0x1:
        raise Unacceptable(
            field, f"{checks.shown(entry.filename)} is encrypted", "send the zip without a password"
        )
    pieces, size = [], 0
    with archive.open(entry) as source:
        while piece := source.read(_PIECE):
            size += len(piece)
            if size > left:
                raise TooLarge(
                    field, f"unpacks to more than the {most // 1024} KiB of a ConfigMap", sources.ELSEWHERE
                )
            pieces.append(piece)
    return b"".join(pieces)


def _without_top(files: dict[str, bytes]) -> dict[str, bytes]:
    """Zips of a folder have it around everything; what counts is what is in it."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or any("/" not in path for path in files):
        return files
    return {path.partition("/")[2]: content for path, content in files.items()}
