"""Formats of strings and patterns for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube import formats, patterns

FORMATS = [
    "byte", "cidr", "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "k8s-long-name",
    "k8s-short-name", "mac", "uri", "uuid", "unheard-of",
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("byte", ["", "aGk=", "YWJj"], ["a", "aGk", "!!!!"]),
        ("cidr", ["10.0.0.0/8", "10.1.2.3/8", "::/0"], ["10.0.0.0", "x/8", "10.0.0.0/99"]),
        ("date", ["2025-01-31"], ["2025-02-30", "20250131", "today"]),
        ("date-time", ["2025-01-31T10:00:00Z", "2025-01-31t10:00:00.5+01:00"],
         ["2025-01-31", "2025-01-31T25:00:00Z", "2025-01-31 10:00:00Z", "2025-01-31T10:00:00"]),
        ("duration", ["1h", "1h30m", "-1.5s", "0", "5 minutes"], ["", "1", "h", "1 parsec"]),
        ("email", ["a@b.c"], ["a", "a b@c"]),
        ("hostname", ["a.b-c.d", "localhost"], ["-a", "a..b", ""]),
        ("ipv4", ["10.0.0.1"], ["::1", "10.0.0", "10.0.0.256"]),
        ("ipv6", ["::1"], ["10.0.0.1", "g::"]),
        ("k8s-short-name", ["a-b"], ["a.b", "A"]),
        ("k8s-long-name", ["a.b"], ["a_b"]),
        ("mac", ["00:1a:2B:3c:4d:5e"], ["00:1a", "zz:1a:2B:3c:4d:5e"]),
        ("uri", ["https://a/b", "/a"], ["a", "a b", ""]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123"]),
        ("unheard-of", ["anything"], []),
    ],
)  # fmt: skip
def test_a_format_tells_good_from_bad(format: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not formats.fits(format, text)] == []
    assert [text for text in bad if formats.fits(format, text)] == []


@given(st.sampled_from(FORMATS), st.text(max_size=20))
def test_no_text_makes_a_format_raise(format: str, text: str) -> None:
    assert formats.fits(format, text) in (True, False)


def test_only_formats_with_a_meaning_are_known() -> None:
    assert [name for name in FORMATS if not formats.is_known(name)] == ["unheard-of"]


@given(st.text(max_size=10), st.text(alphabet=st.characters(), max_size=70))
def test_a_pattern_is_searched_or_refused(pattern: str, text: str) -> None:
    try:
        found = patterns.matches(pattern, text)
    except ValueError:
        found = False
    assert found in (True, False)


def test_classes_are_those_of_ascii_and_the_end_is_the_end() -> None:
    assert patterns.matches(r"^\d$", "5")
    assert not patterns.matches(r"^\d$", "\u0665")
    assert not patterns.matches("^a$", "a\n")
    assert patterns.matches("^[[:alpha:]]+$", "abc")
    assert patterns.matches("^.$", "\ud800")
