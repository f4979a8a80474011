"""Arithmetic with quantities."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trainshed.kube import quantities

NUMBERS = st.decimals(-(10**12), 10**12, places=3).map(lambda number: f"{number:f}")
SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "e3", "E-2", "e0"])
TEXTS = st.builds(str.__add__, NUMBERS, SUFFIXES)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1024", "1024"),
        ("1e3", "1e3"),
        ("12E6", "12e6"),
        ("1E", "1E"),
        ("0.1n", "1n"),
        ("0", "0"),
        ("-1.50", "-1500m"),
        ("+5k", "5k"),
        ("0.3Ki", "307200m"),
        ("1e-3", "1e-3"),
        ("0.5Ki", "512"),
        ("00010", "10"),
        (2.5, "2500m"),
        (3, "3"),
        ("99999999999Ei", "9223372036854775807"),
        ("-0", "0"),
        (".5", "500m"),
        ("1.", "1"),
        (1e-7, "100e-9"),
    ],
)
def test_quantities_are_stored_in_one_way(text: str | float, stored: str) -> None:
    assert quantities.canonical(text) == stored


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "quantities must match"),
        ("abc", "quantities must match"),
        ("1_0", "quantities must match"),
        (".", "must match"),
        ("1Kx", "must match"),
        ("1.5.5", "must match"),
        ("\u0663", "must match"),
        (True, "must match"),
        ("1 Gi", "must match"),
        ("1KiB", "must match"),
        ("1mm", "suffix"),
        ("1e1000", "suffix"),
        ("9" * 200, "numeric part"),
        (float("inf"), "must match"),
    ],
)
def test_what_is_no_quantity_is_a_value_error_in_the_servers_words(text: str | float, said: str) -> None:
    assert not quantities.is_quantity(text)
    with pytest.raises(ValueError, match=said):
        quantities.parse(text)


@given(TEXTS)
def test_the_stored_form_has_the_same_value_and_is_stored_as_it_is(text: str) -> None:
    stored = quantities.canonical(text)
    assert quantities.parse(stored) == quantities.parse(text)
    assert quantities.canonical(stored) == stored


@given(TEXTS, st.sampled_from(["1", "1Gi", "1e3"]))
def test_a_value_written_in_any_family_reads_back_as_itself(text: str, like: str) -> None:
    value = quantities.parse(text)
    assume(abs(value) < 2**63)  # beyond that, binary suffixes are capped, as upstream
    assert quantities.parse(quantities.format(value, like)) == value


@given(TEXTS, TEXTS)
def test_quantities_are_ordered_as_their_numbers(left: str, right: str) -> None:
    a, b = quantities.parse(left), quantities.parse(right)
    assert quantities.compare(left, right) == (a > b) - (a < b)
    assert quantities.compare(right, left) == -quantities.compare(left, right)


@given(TEXTS, TEXTS)
def test_what_is_added_can_be_taken_away_again(left: str, right: str) -> None:
    total = quantities.add(left, right)
    assert quantities.compare(quantities.subtract(total, right), left) == 0


def test_sums_keep_the_family_of_the_first_that_counts() -> None:
    assert quantities.add("1Gi", "512Mi") == "1536Mi"
    assert quantities.add("0", "1Gi") == "1Gi"
    assert quantities.subtract("1", "100m") == "900m"


def test_thousandths_and_whole_numbers_are_rounded_up() -> None:
    assert [quantities.milli(text) for text in ("1", "0.5", "100u", "2k")] == [1000, 500, 1, 2_000_000]
    assert [quantities.whole(text) for text in ("1500m", "1Gi", "0")] == [2, 2**30, 0]


@given(st.text(max_size=12))
def test_no_text_raises_anything_but_a_value_error(text: str) -> None:
    if quantities.is_quantity(text):
        assert isinstance(quantities.parse(text), Decimal)


@pytest.mark.parametrize("text", ["1" * 1_000_000 + "!", "1." + "0" * 1_000_000 + "!", "1e" * 500_000])
def test_a_million_digits_are_read_once(text: str) -> None:
    assert not quantities.is_quantity(text)
