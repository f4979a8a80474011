"""Sets of completion indexes as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.controllers.job import indexes


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (set(), ""),
        ({0}, "0"),
        ({0, 1}, "0,1"),
        ({0, 1, 2}, "0-2"),
        ({0, 2, 3, 4, 5, 9}, "0,2-5,9"),
        ({7, 8, 1}, "1,7,8"),
    ],
)
def test_runs_of_three_and_more_are_shortened(found: set[int], text: str) -> None:
    assert indexes.written(found) == text
    assert indexes.parse(text, 10) == found


@pytest.mark.parametrize(
    ("text", "completions", "found"),
    [
        ("0-9", 4, {0, 1, 2, 3}),
        ("3,5", 5, {3}),
        ("oops,1", 5, {1}),
        ("1-x,2", 5, {2}),
        ("-1,2", 5, {2}),
        ("5-2", 9, set()),
        ("", 5, set()),
    ],
)
def test_what_is_out_of_range_or_unreadable_is_left_out(text: str, completions: int, found: set[int]) -> None:
    assert indexes.parse(text, completions) == found


@given(st.frozensets(st.integers(0, 200)))
def test_what_is_written_is_read_again(found: frozenset[int]) -> None:
    assert indexes.parse(indexes.written(found), 201) == found


@given(st.frozensets(st.integers(0, 50)), st.integers(0, 60))
def test_a_smaller_job_reads_fewer_indexes(found: frozenset[int], completions: int) -> None:
    kept = {index for index in found if index < completions}
    assert indexes.parse(indexes.written(found), completions) == kept
