"""SPDY/3.1 frames and headers."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.apiserver.spdy.codec import Data, Event, Incoming, Leave, Opened, Outgoing, Ping, Reset
from trainshed.apiserver.spdy.headers import DICTIONARY, Malformed, Packer, Unpacker

HEADERS = {"streamtype": "data", "port": "8080", "requestid": "0"}


def heard(data: bytes) -> list[Event]:
    return list(Incoming().feed(data))


class TestHeaders:
    def test_the_dictionary_is_the_one_of_the_protocol(self) -> None:
        assert len(DICTIONARY) == 1423
        assert hashlib.sha256(DICTIONARY).hexdigest().startswith("51d27341373f923f")

    @given(
        st.lists(st.dictionaries(st.from_regex("[a-z]{1,8}", fullmatch=True), st.text("abc0 /", max_size=9)))
    )
    def test_blocks_come_out_as_they_went_in_one_after_the_other(self, blocks: list[dict[str, str]]) -> None:
        packer, unpacker = Packer(), Unpacker()
        assert [unpacker.unpack(packer.pack(block)) for block in blocks] == blocks

    def test_names_are_lower_case(self) -> None:
        assert Unpacker().unpack(Packer().pack({"streamType": "error"})) == {"streamtype": "error"}

    @pytest.mark.parametrize("junk", [b"junk", b"\0" * 40])
    def test_what_is_not_packed_is_malformed(self, junk: bytes) -> None:
        with pytest.raises(Malformed):
            Unpacker().unpack(junk)

    def test_a_bomb_does_not_go_off(self) -> None:
        with pytest.raises(Malformed, match="more than 65536 bytes"):
            Unpacker().unpack(Packer().pack({"a": "0" * 10_000_000}))


class TestFrames:
    def everything(self) -> tuple[bytes, list[Event]]:
        out = Outgoing()
        said = [
            out.open(1, HEADERS, is_last=True),
            out.open(3, {}),
            out.data(3, b"abc"),
            out.data(3, b"", is_last=True),
            out.pong(7),
            out.reset(1, 5),
            out.leave(3),
        ]
        events: list[Event] = [
            Opened(1, HEADERS, True),
            Opened(3, {}, False),
            Data(3, b"abc", False),
            Data(3, b"", True),
            Ping(7),
            Reset(1),
            Leave(),
        ]
        return b"".join(said), events

    def test_say_what_they_say(self) -> None:
        said, events = self.everything()
        assert heard(said) == events

    @given(st.data())
    def test_may_be_cut_anywhere(self, data: st.DataObject) -> None:
        said, events = self.everything()
        cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=20)))
        incoming = Incoming()
        pieces = [said[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(said)], strict=True)]
        found = [event for piece in pieces for event in incoming.feed(piece)]
        assert _joined(found) == _joined(events)

    def test_large_data_is_handed_on_before_it_is_complete(self) -> None:
        incoming = Incoming()
        frame = Outgoing().data(1, b"x" * 100_000, is_last=True)
        first = list(incoming.feed(frame[:50_000]))
        assert [(len(event.payload), event.is_last) for event in first if isinstance(event, Data)] == [
            (49_992, False)
        ]
        [last] = incoming.feed(frame[50_000:])
        assert isinstance(last, Data)
        assert last.is_last

    def test_frames_we_do_not_need_are_passed_over(self) -> None:
        settings = struct.pack("!HHI", 0x8003, 4, 12) + b"\0" * 12
        window = struct.pack("!HHI", 0x8003, 9, 8) + b"\0" * 8
        assert heard(settings + window + Outgoing().pong(1)) == [Ping(1)]

    @pytest.mark.parametrize(
        "nonsense",
        [
            b"\x80\x02" + b"\0" * 6,  # SPDY/2
            struct.pack("!HHI", 0x8003, 1, 1 << 20),  # a head of a megabyte
            struct.pack("!HHI", 0x8003, 3, 2) + b"\0\0",  # breaks off
        ],
    )
    def test_nonsense_is_malformed(self, nonsense: bytes) -> None:
        with pytest.raises(Malformed):
            heard(nonsense)

    @given(st.binary(max_size=200))
    def test_no_bytes_do_harm(self, junk: bytes) -> None:
        try:
            heard(junk)
        except Malformed:
            return


def _joined(events: list[Event]) -> list[Event]:
    """Neighbouring pieces of data as one: where data is cut means nothing."""
    found: list[Event] = []
    for event in events:
        before = found[-1] if found else None
        if (
            isinstance(event, Data)
            and isinstance(before, Data)
            and before.stream == event.stream
            and not before.is_last
        ):
            found[-1] = Data(event.stream, before.payload + event.payload, event.is_last)
        else:
            found.append(event)
    return found
