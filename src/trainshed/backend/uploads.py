"""An uploaded archive as files by their path; pure. What cannot be code of a job is named and refused."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib

from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable
from trainshed.jobs.bundle import MOST_FILES

FIELD = "archive"
_LITTER = ("__MACOSX/", ".DS_Store", "__pycache__/")
_ELSEWHERE = "give the code by git, or put it on a volume and name that in volumes"


def unpacked(data: bytes, most: int) -> dict[str, bytes]:
    """The files of a zip; a folder that holds all of them is left out. Raises `Unacceptable`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if _counts(entry)]
            _check(entries, most)
            return _without_top({entry.filename: _content(archive, entry, most) for entry in entries})
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as broken:
        if isinstance(broken, Unacceptable):
            raise
        raise Unacceptable(FIELD, "it is not a zip archive, or a broken one") from broken
    except (NotImplementedError, RuntimeError) as unknown:
        why = "it is encrypted, or compressed in a way that is not known here"
        raise Unacceptable(FIELD, why, "make it with zip -r") from unknown


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
    for entry in entries:
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
