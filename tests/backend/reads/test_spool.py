"""A stream on disk: what was counted stays, ids stay true, what is too old goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.backend.following import frames
from trainshed.backend.following.spool import Lost, Spool
from trainshed.jobs.marks import Mark


def filled(folder: Path, count: int, **sizes: int) -> Spool:
    spool = Spool(folder, **sizes)
    for number in range(count):
        spool.append("lines", {"n": number}, f"source-{number % 3}", Mark(f"stamp-{number}", number))
    return spool


def events(content: bytes) -> list[tuple[str, bytes]]:
    """Id and data of each frame."""
    found = []
    for frame in content.split(b"\n\n")[:-1]:
        head, _, data = frame.partition(b"\ndata: ")
        found.append((head.split(b"\n")[0].removeprefix(b"id: ").decode(), data))
    return found


def everything(spool: Spool, place: int = 0) -> bytes:
    found = b""
    while piece := spool.read(place + len(found), 64):
        found += piece
    return found


@given(st.integers(0, 40), st.integers(0, 39))
def test_whoever_comes_back_with_an_id_gets_exactly_the_rest(count: int, at: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        spool = filled(Path(folder) / "s", count)
        every = events(everything(spool))
        assert [data for _, data in every] == [b'{"n":%d}' % number for number in range(count)]
        if at < count:
            place = spool.place_of(every[at][0])
            assert place is not None
            assert events(everything(spool, place)) == every[at + 1 :]
        spool.close()


def test_a_killed_process_goes_on_behind_its_last_frame(tmp_path: Path) -> None:
    spool = filled(tmp_path / "s", 10)
    before, last = everything(spool), events(everything(spool))[-1][0]
    with (tmp_path / "s" / f"{0:012x}.sse").open("ab") as torn:
        torn.write(b"id: half a fra")
    again = Spool(tmp_path / "s")
    assert again.generation == spool.generation
    assert again.marks == spool.marks
    assert everything(again) == before
    again.append("lines", {"n": 10}, "source-1", Mark("stamp-10", 1))
    place = again.place_of(last)
    assert place is not None
    assert [data for _, data in events(everything(again, place))] == [b'{"n":10}']


@pytest.mark.parametrize("damage", ["generation", "ledger", "sources", f"{0:012x}.sse"])
def test_a_spool_that_lost_a_file_begins_anew_under_another_name(tmp_path: Path, damage: str) -> None:
    spool = filled(tmp_path / "s", 10)
    id = events(everything(spool))[4][0]
    (tmp_path / "s" / damage).write_bytes(b"") if damage.endswith("sse") else (
        tmp_path / "s" / damage
    ).unlink()
    again = Spool(tmp_path / "s")
    assert again.end == 0
    assert again.place_of(id) is None


def test_the_oldest_goes_when_there_is_too_much_and_marks_stay(tmp_path: Path) -> None:
    spool = filled(tmp_path / "s", 400, most_bytes=4096, segment=1024)
    assert spool.size <= 4096 + 1024
    assert sum(path.stat().st_size for path in (tmp_path / "s").glob("*.sse")) == spool.size
    with pytest.raises(Lost):
        spool.read(0)
    left = events(everything(spool, spool.start))
    assert left[-1][1] == b'{"n":399}'
    again = Spool(tmp_path / "s", 4096, 1024)
    assert again.marks == spool.marks
    assert (again.start, again.end) == (spool.start, spool.end)
    assert (tmp_path / "s" / "ledger").stat().st_size < 10_000


def test_ids_of_others_and_places_within_a_frame_are_not_known(tmp_path: Path) -> None:
    spool, other = filled(tmp_path / "a", 5), filled(tmp_path / "b", 5)
    id = events(everything(spool))[1][0]
    assert other.place_of(id) is None
    generation, place = frames.read_id(id) or ("", 0)
    for wrong in (place - 1, place + 3, spool.end + 1):
        assert spool.place_of(frames.event_id(generation, wrong)) is None
    for text in ("", "x", "0-0", "ü" * 20, id + "0"):
        assert spool.place_of(text) is None


def test_the_end_is_remembered(tmp_path: Path) -> None:
    spool = filled(tmp_path / "s", 2)
    spool.append("end", {"state": "Complete"})
    assert spool.is_over
    assert Spool(tmp_path / "s").is_over


def test_a_full_disk_leaves_a_spool_as_it_was(tmp_path: Path) -> None:
    spool = filled(tmp_path / "s", 3)
    before = everything(spool)
    readable = os.open(os.devnull, os.O_RDONLY)
    os.dup2(readable, spool._ledger)  # as if nothing more could be written there
    os.close(readable)
    with pytest.raises(OSError, match=r"\w"):
        spool.append("lines", {"n": 3}, "source-0", Mark("x", 1))
    assert everything(spool) == before
    again = Spool(tmp_path / "s")
    assert everything(again) == before
