"""Numbers in texts of other people: whatever they wrote, reading it does not fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube.numbers import MOST, integer, whole

HOSTILE: list[object] = [
    "",
    " 1",
    "1 ",
    "1_0",
    "-1",
    "+1",
    "²",
    "٣",
    "9" * 20,
    "9" * 5000,
    "0x1",
    "1.0",
    None,
    1,
    True,
    [],
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_whole_number_reads_as_none(text: object) -> None:
    assert whole(text) is None


def test_plain_digits_are_read_up_to_the_largest_allowed() -> None:
    assert [whole("0"), whole("007"), whole(str(MOST))] == [0, 7, MOST]
    assert whole(str(MOST + 1)) is None
    assert [whole("99", most=99), whole("100", most=99)] == [99, None]


@pytest.mark.parametrize(
    ("text", "number"), [("+3", 3), ("-3", -3), ("3", 3), ("--3", None), ("-", None), ("-²", None), (3, None)]
)
def test_an_integer_may_have_one_sign(text: object, number: int | None) -> None:
    assert integer(text) == number


@given(st.text())
def test_no_text_makes_reading_fail(text: str) -> None:
    assert whole(text) is None or int(text) == whole(text)
    assert integer(text) is None or int(text) == integer(text)
