"""Archives of anybody: what is in them comes out, and whatever is wrong with them is named."""

from __future__ import annotations

import io
import struct
import time
import warnings
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.backend import uploads
from trainshed.backend.rendering.unacceptable import TooLarge, Unacceptable

MOST = 900 * 1024


def zipped(files: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", method) as archive:
        warnings.simplefilter("ignore")  # about names that are there twice
        for name, content in files:
            archive.writestr(name, content)
    return target.getvalue()


def test_files_come_out_without_the_folder_that_holds_them() -> None:
    data = zipped([("a/train.py", b"1"), ("a/b/c.py", b"2"), ("a/__pycache__/d.pyc", b"3")])
    assert uploads.unpacked(data, MOST) == {"train.py": b"1", "b/c.py": b"2"}


def test_half_a_million_entries_are_refused_without_being_read() -> None:
    entry = (
        struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", *(0,) * 4, *(0,) * 4, 0, 0, 0, 1, *(0,) * 4, 0, 0) + b"a"
    )
    count = 500_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(entry) * count, 0, 0)
    began = time.monotonic()
    with pytest.raises(TooLarge, match="entries"):
        uploads.unpacked(entry * count + end, MOST)
    assert time.monotonic() - began < 2


def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(Unacceptable, match=r"train\.py.*twice"):
        uploads.unpacked(zipped([("train.py", b"1"), ("train.py", b"2")]), MOST)


def test_a_compression_that_takes_what_memory_it_likes_is_refused() -> None:
    data = zipped([("train.py", b"1" * 100)], zipfile.ZIP_LZMA)
    with pytest.raises(Unacceptable, match="compressed"):
        uploads.unpacked(data, MOST)


@given(
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4),
)
def test_a_damaged_archive_is_unpacked_or_named(method: int, damage: list[tuple[int, int]]) -> None:
    data = bytearray(zipped([("train.py", b"print(1)\n" * 20), ("data/x.txt", b"abc" * 30)], method))
    for place, value in damage:
        data[place % len(data)] = value
    with suppress(Unacceptable):
        uploads.unpacked(bytes(data), MOST)
