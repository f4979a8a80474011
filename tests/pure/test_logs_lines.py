"""The CRI log format, and what readers are shown of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from trainshed.runner.logs import lines
from trainshed.runner.logs.lines import Renderer

NOON = b"2026-11-15T12:00:00.000000000Z"
ONE = b"2026-11-15T12:00:01.123456789Z"


def written(text: bytes, stamp: bytes = NOON, stream: bytes = b"stdout", tag: bytes = b"F") -> bytes:
    return b" ".join((stamp, stream, tag, text)) + b"\n"


class TestParsing:
    def test_a_line_has_a_time_a_stream_and_a_text(self) -> None:
        found = lines.parse(written(b"loss 0.5 \xff", ONE, b"stderr")[:-1])
        assert found == (ONE, b"stderr", True, b"loss 0.5 \xff")

    def test_pieces_are_told_from_whole_lines(self) -> None:
        assert not lines.is_whole(written(b"half", tag=b"P")[:-1])
        assert lines.is_whole(written(b"whole")[:-1])

    def test_times_of_other_writers_are_read_too(self) -> None:
        found = lines.parse(b"2026-11-15T12:00:00.5+09:00 stdout F hi")
        assert found is not None
        assert found.text == b"hi"

    def test_what_a_crash_left_is_no_line(self) -> None:
        assert lines.parse(b"2026-11-15T12:0") is None
        assert lines.is_whole(b"2026-11-15T12:0")

    def test_moments_are_written_in_utc_with_nine_digits(self) -> None:
        moment = datetime(2026, 11, 15, 21, 0, 0, 5, timezone(timedelta(hours=9)))
        assert lines.stamp(moment) == b"2026-11-15T12:00:00.000005000Z"


class TestRendering:
    def test_only_the_text_is_shown(self) -> None:
        block = written(b"a") + written(b"", stream=b"stderr") + written(b"c\rd")
        assert Renderer().render(block) == b"a\n\nc\rd\n"

    def test_times_come_before_the_text_when_wanted(self) -> None:
        assert Renderer(timestamps=True).render(written(b"a", ONE)) == ONE + b" a\n"

    def test_pieces_of_a_line_are_joined_even_across_blocks(self) -> None:
        renderer = Renderer(timestamps=True)
        first = renderer.render(written(b"x", ONE) + written(b"aa", tag=b"P"))
        second = renderer.render(written(b"bb", ONE, tag=b"P") + written(b"cc", ONE) + written(b"d", ONE))
        assert first + second == ONE + b" x\n" + NOON + b" aabbcc\n" + ONE + b" d\n"

    def test_a_line_of_the_other_stream_does_not_go_on_where_the_last_one_stopped(self) -> None:
        block = written(b"half", tag=b"P") + written(b"oops", stream=b"stderr") + written(b"rest")
        assert Renderer().render(block) == b"half\noops\nrest\n"

    def test_lines_before_a_moment_are_left_out(self) -> None:
        renderer = Renderer(since=ONE)
        assert renderer.render(written(b"old")) == b""
        assert renderer.render(written(b"old") + written(b"new", ONE)) == b"new\n"
        assert renderer.render(written(b"newer", ONE)) == b"newer\n"

    def test_what_is_no_line_is_shown_as_it_is(self) -> None:
        assert Renderer().render(b"torn\n" + written(b"a")) == b"torn\na\n"

    @given(st.lists(st.binary(max_size=20).map(lambda text: text.replace(b"\n", b""))))
    def test_rendering_gives_back_what_was_written(self, texts: list[bytes]) -> None:
        block = b"".join(written(text) for text in texts)
        assert Renderer().render(block) == b"".join(text + b"\n" for text in texts)

    @given(
        st.lists(
            st.tuples(
                st.sampled_from([b"P", b"F"]),
                st.sampled_from([b"a", b"", b" F "]),
                st.sampled_from([b"stdout", b"stderr"]),
            )
        ),
        st.integers(0, 50),
        st.booleans(),
    )
    def test_where_a_block_ends_does_not_matter(
        self, pieces: list[tuple[bytes, bytes, bytes]], cut: int, timestamps: bool
    ) -> None:
        raws = [written(text, tag=tag, stream=stream) for tag, text, stream in pieces]
        whole = Renderer(timestamps=timestamps).render(b"".join(raws))
        parted = Renderer(timestamps=timestamps)
        parts = b"".join(raws[:cut]), b"".join(raws[cut:])
        assert b"".join(parted.render(part) for part in parts) == whole


class TestStreams:
    def test_output_is_parted_by_stream_in_its_order(self) -> None:
        block = (
            written(b"a")
            + written(b"b", tag=b"P")
            + written(b"oops", stream=b"stderr")
            + written(b"c", tag=b"P")
        )
        assert list(lines.by_stream(block)) == [
            (b"stdout", b"a\nb"),
            (b"stderr", b"oops\n"),
            (b"stdout", b"c"),
        ]

    def test_nothing_is_nothing(self) -> None:
        assert list(lines.by_stream(b"")) == []


def test_stamps_sort_as_their_moments_do() -> None:
    moments = [datetime(2026, 1, 2, tzinfo=UTC) + timedelta(microseconds=10**step) for step in range(9)]
    assert sorted(map(lines.stamp, moments)) == [lines.stamp(moment) for moment in moments]
