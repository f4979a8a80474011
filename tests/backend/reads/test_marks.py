"""A log that is read in pieces, broken off and asked for again: each line once, in order."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.jobs import loglines, marks
from trainshed.jobs.marks import START, Line, Mark, Skipper, Splitter

texts = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=8)
logs = st.lists(st.tuples(st.integers(0, 3), texts), max_size=30)


def stamped(log: list[tuple[int, str]]) -> list[Line]:
    """Lines whose times never go back and are often the same; the seconds change with each tenth."""
    at, found = 0, []
    for step, text in log:
        at += step * 4
        found.append(Line(f"2026-01-01T00:00:{at // 10:02}.{at % 10}00000000Z", text))
    return found


def asked_again(lines: list[Line], mark: Mark, begin: int = 0) -> list[Line]:
    """What an API server sends from the mark's second on, of what it still has."""
    since = mark.since.removesuffix("Z")
    return [line for line in lines[begin:] if line.stamp >= since]


@given(logs, st.lists(st.integers(1, 6), max_size=10))
def test_a_log_that_breaks_off_again_and_again_is_read_once(
    log: list[tuple[int, str]], breaks: list[int]
) -> None:
    lines, mark = stamped(log), START
    read: list[Line] = []
    for count in [*breaks, 10_000]:
        batch = Skipper(mark).rest(asked_again(lines, mark))[:count]
        read += batch
        mark = marks.advanced(mark, batch)
    assert read == lines


@given(logs, st.integers(0, 30), st.integers(0, 30))
def test_what_was_rotated_away_is_missing_and_nothing_comes_twice(
    log: list[tuple[int, str]], read: int, gone: int
) -> None:
    lines = stamped(log)
    mark = marks.advanced(START, lines[:read])
    rest = list(Skipper(mark).rest(asked_again(lines, mark, gone)))
    younger = [line for line in lines[max(read, gone) :] if not read or line.stamp > mark.stamp]
    assert [line for line in rest if not read or line.stamp > mark.stamp] == younger


@given(logs, st.integers(1, 9))
def test_lines_come_out_of_pieces_of_any_size(log: list[tuple[int, str]], size: int) -> None:
    lines = stamped(log)
    whole = "".join(f"{line.stamp} {line.text}\n" for line in lines).encode()
    splitter, found = Splitter(), []
    for at in range(0, len(whole), size):
        found += splitter.lines(whole[at : at + size])
    assert found == lines
    assert splitter.rest() == []


def test_a_line_without_end_does_not_grow_for_ever() -> None:
    splitter = Splitter()
    for _ in range(20):
        splitter.lines(b"x" * (1 << 20))
    (line,) = splitter.rest()
    assert line.text == "x" * marks.MOST_HELD + marks.CUT


@given(logs, st.integers(1, 40))
def test_a_line_that_is_too_long_is_cut_alike_in_pieces_of_any_size(
    log: list[tuple[int, str]], size: int
) -> None:
    lines = stamped(log)
    whole = "".join(f"{line.stamp} {line.text * 9}\n" for line in lines).encode()
    splitter, found = Splitter(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks, "MOST_HELD", 40)
        for at in range(0, len(whole), size):
            found += splitter.lines(whole[at : at + size])
    said = [f"{line.stamp} {line.text * 9}".encode() for line in lines]
    shown = [one if len(one) <= 40 else one[:40] + marks.CUT.encode() for one in said]
    assert found == [marks.parse(one.decode(errors="replace")) for one in shown]
    assert splitter.rest() == []


def test_the_end_of_a_line_that_was_cut_is_dropped_and_the_next_is_whole() -> None:
    splitter = Splitter()
    for _ in range(20):
        assert splitter.lines(b"x" * 1_000_000) == []
    cut, following = splitter.lines(b"the end of it\nthe next\n")
    assert cut.text == "x" * marks.MOST_HELD + marks.CUT
    assert following.text == "the next"
    assert splitter.rest() == []


def test_a_line_that_just_fits_is_whole() -> None:
    splitter = Splitter()
    assert splitter.lines(b"x" * marks.MOST_HELD) == []
    assert splitter.lines(b"\n") == [Line("", "x" * marks.MOST_HELD)]


def test_lines_without_a_time_are_kept_with_the_one_before() -> None:
    lines = [Line("2026-01-01T00:00:00.100000000Z", "a"), Line("", "torn"), Line("", "torn")]
    mark = marks.advanced(START, lines[:2])
    assert list(Skipper(mark).rest(lines)) == lines[2:]


async def in_pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.mark.parametrize(("is_whole", "said"), [(True, ["b", "torn"]), (False, ["b"])])
async def test_a_line_that_does_not_end_is_told_only_of_a_log_that_does(
    is_whole: bool, said: list[str]
) -> None:
    mark = marks.advanced(START, [Line("2026-01-01T00:00:00.100000000Z", "a")])
    pieces = in_pieces(
        b"2026-01-01T00:00:00.100000000Z a\n2026-01-01T00:00:00.1",
        b"00000000Z b\n2026-01-01T00:00:00.200000000Z to",
        b"rn",
    )
    read = [line.text async for lines in loglines.behind(pieces, mark, is_whole=is_whole) for line in lines]
    assert read == said


async def test_a_line_that_is_cut_comes_once_wherever_its_log_breaks_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marks, "MOST_HELD", 40)
    long = b"2026-01-01T00:00:00.100000000Z " + b"x" * 100
    pieces = [
        b"2026-01-01T00:00:00.100000000Z a\n",
        long,
        b"x" * 30,
        b"xx\n2026-01-01T00:00:00.100000000Z b\n",
    ]
    mark = START
    read: list[Line] = []
    for count in (2, 3, 4, 4):
        async for lines in loglines.behind(in_pieces(*pieces[:count]), mark, is_whole=False):
            read += lines
            mark = marks.advanced(mark, lines)
    assert [line.text for line in read] == ["a", "x" * 9 + marks.CUT, "b"]
