"""An uploaded archive as files by their path; pure. What cannot be code of a job is named and refused."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib

from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable
from trainshed.jobs.bundle import MOST_FILES

FIELD = "archive"
MOST_ENTRIES = 10_000
"""Folders and litter included; more would take seconds to be looked at."""
_LITTER = ("__MACOSX/", ".DS_Store", "__pycache__/")
_ELSEWHERE = "give the code by git, or put it on a volume and name that in volumes"
_ENTRY = b"PK\x01\x02"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""Not LZMA: an archive says itself how much memory that takes."""
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
)
"""What reading bytes of anybody as a zip may raise."""


def unpacked(data: bytes, most: int) -> dict[str, bytes]:
    """The files of a zip; a folder that holds all of them is left out. Raises `Unacceptable`."""
    # How many an archive says it has need not be true, but each has this mark.
    if data.count(_ENTRY) > MOST_ENTRIES:
        raise TooLarge(FIELD, f"has more than {MOST_ENTRIES} entries", _ELSEWHERE)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if _counts(entry)]
            _check(entries, most)
            return _without_top({entry.filename: _content(archive, entry, most) for entry in entries})
    except Unacceptable:
        raise
    except (NotImplementedError, RuntimeError) as unknown:
        raise _unknown() from unknown
    except _BROKEN as broken:
        raise Unacceptable(FIELD, "it is not a zip archive, or a broken one") from broken


def _unknown() -> Unacceptable:
    why = "it is encrypted, or compressed in a way that is not known here"
    return Unacceptable(FIELD, why, "make it with zip -r")


def _counts(entry: zipfile.ZipInfo) -> bool:
    return not entry.is_dir() and not any(
        entry.filename.startswith(litter) or f"/{litter}" in f"/{entry.filename}" for litter in _LITTER
    )


def _check(entries: list[zipfile.ZipInfo], most: int) -> None:
    if len(entries) > MOST_FILES:
        raise TooLarge(FIELD, f"has {len(entries)} files, more than {MOST_FILES}", _ELSEWHERE)
    size = sum(entry.file_size for entry in entries)
    if size > most:
        raise TooLarge(
            FIELD,
            f"has {size // 1024} KiB of files, more than the {most // 1024} KiB there is room for",
            _ELSEWHERE,
        )
    names = set[str]()
    for entry in entries:
        if entry.filename in names:
            raise Unacceptable(FIELD, f"{entry.filename[:100]!r} is in it twice", "make it anew with zip -r")
        names.add(entry.filename)
        if entry.compress_type not in _METHODS:
            raise _unknown()
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise Unacceptable(FIELD, f"{entry.filename[:100]!r} is a link", "put the file itself in it")


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """What an archive says of its sizes need not be true."""
    with archive.open(entry) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise TooLarge(FIELD, f"{entry.filename[:100]!r} is larger than it says", _ELSEWHERE)
    return content


def _without_top(files: dict[str, bytes]) -> dict[str, bytes]:
    tops = {path.partition("/")[0] for path in files if "/" in path}
    if len(tops) != 1 or tops & {"", ".", ".."} or any("/" not in path for path in files):
        return files  # what leads out of the folder is refused with its whole path
    return {path.partition("/")[2]: content for path, content in files.items()}
