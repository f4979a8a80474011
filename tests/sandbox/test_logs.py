"""How what containers say gets into their logs."""

from __future__ import annotations

import re
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.sandbox.workbench import Workbench, appears, entries, read
from trainshed.runner.process.logfile import LONGEST, Entries, LogFile, stamp
from trainshed.runner.sandbox import vigil

_AT = b"2026-11-15T00:00:00.000000000Z"


def _texts(log: bytes) -> list[tuple[bytes, bytes]]:
    found = [line.split(b" ", 3) for line in log.splitlines(keepends=True)]
    return [(flag, text.removesuffix(b"\n")) for _, _, flag, text in found]


def _joined(log: bytes) -> bytes:
    """What a reader makes of it: partial entries go on in the next."""
    return b"".join(text + (b"\n" if flag == b"F" else b"") for flag, text in _texts(log))


def test_times_have_nanoseconds_and_are_universal() -> None:
    assert stamp(1_763_164_800_000_000_005) == b"2025-11-15T00:00:00.000000005Z"


def test_each_line_is_an_entry() -> None:
    assert Entries("stdout").feed(b"a\n\nb\n", _AT) == b"".join(
        _AT + b" stdout F " + text + b"\n" for text in (b"a", b"", b"b")
    )


def test_a_line_in_pieces_is_one_entry() -> None:
    one = Entries("stderr")
    assert one.feed(b"a", _AT) == b""
    assert one.feed(b"b", _AT) == b""
    assert _texts(one.feed(b"c\nd", _AT)) == [(b"F", b"abc")]
    assert _texts(one.flush(_AT, ended=True)) == [(b"F", b"d")]
    assert one.flush(_AT, ended=True) == b""


def test_long_lines_are_cut_into_partial_entries() -> None:
    found = _texts(Entries("stdout").feed(b"x" * (2 * LONGEST + 1) + b"\nshort\n", _AT))
    assert [(flag, len(text)) for flag, text in found] == [
        (b"P", LONGEST),
        (b"P", LONGEST),
        (b"F", 1),
        (b"F", 5),
    ]


def test_a_line_of_just_the_longest_length_is_whole() -> None:
    assert [flag for flag, _ in _texts(Entries("stdout").feed(b"x" * LONGEST + b"\n", _AT))] == [b"F"]


def test_memory_stays_flat_for_output_without_lines() -> None:
    one = Entries("stdout")
    sizes = [len(one.feed(b"x" * 100_000, _AT)) for _ in range(5)]
    assert all(size > 80_000 for size in sizes)


@given(st.lists(st.binary(max_size=100)), st.booleans())
def test_whatever_is_said_can_be_read_back(pieces: list[bytes], pauses: bool) -> None:
    one, log = Entries("stdout"), b""
    for piece in pieces:
        log += one.feed(piece.replace(b"\r", b"."), _AT)
        log += one.flush(_AT, ended=False) if pauses else b""
    log += one.flush(_AT, ended=True)
    said = b"".join(pieces).replace(b"\r", b".")
    assert _joined(log).removesuffix(b"\n") == said.removesuffix(b"\n")


def test_a_full_log_is_rotated_and_the_oldest_goes(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "0.log"), limit=100, kept=3)
    for number in range(10):
        log.write(b"%d" % number * 59 + b"\n", _AT)
    log.close()
    found = {path.name: path.read_bytes()[:1] for path in tmp_path.iterdir()}
    assert found == {"0.log": b"9", "0.log.1": b"8", "0.log.2": b"7"}


def test_a_full_disk_costs_lines_and_says_so_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.symlink_to("/dev/full")
    log = LogFile(str(path))
    log.write(b"one\ntwo\n", _AT)
    path.unlink()
    log.close()
    log.write(b"three\n", _AT)
    assert path.read_bytes() == (
        _AT + b" stderr F trainshed: about 2 lines are missing here: No space left on device\nthree\n"
    )


async def test_a_container_may_say_a_lot_quickly(bench: Workbench) -> None:
    count = 200_000
    script = f"seq 1 {count}"
    plan = bench.container(await bench.pod(), "sh", "-c", script)
    began = time.monotonic()
    await bench.start(plan)
    await bench.end(plan)
    took = time.monotonic() - began
    found = entries(plan.log)
    assert [text for _, _, text in found] == [str(number) for number in range(1, count + 1)]
    assert count / took > 50_000


async def test_a_progress_bar_is_seen_before_its_line_ends(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "sh", "-c", "printf '50%%\\r'; read forever < /dev/zero")
    await bench.start(plan)
    await appears(plan.log, "50%")
    assert entries(plan.log) == [("stdout", "P", "50%\r")]


async def test_times_are_those_of_the_output(bench: Workbench) -> None:
    plan = bench.container(await bench.pod(), "echo", "now")
    began = time.time_ns()
    await bench.said(plan)
    said = read(plan.log).decode().split(" ")[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", said)
    assert stamp(began).decode() <= said <= stamp(time.time_ns()).decode()


def test_the_holders_own_log_begins_anew_for_all_who_write_to_it(tmp_path: Path) -> None:
    path = tmp_path / "holder.log"
    with path.open("ab", 0) as one, path.open("ab", 0) as another:
        one.write(b"x" * 100)
        vigil.shorten_log(str(path), most_bytes=1000)
        another.write(b"y" * 1000)
        vigil.shorten_log(str(path), most_bytes=1000)
        one.write(b"after")
    assert path.read_bytes() == b"after"
    assert (tmp_path / "holder.log.1").stat().st_size == 1100
