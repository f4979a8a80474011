"""JSON and YAML text as the API reads it."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.kube import documents
from trainshed.kube.objects import JSON, encode

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('ab:"\\ {', max_size=4), inner, max_size=4)
    ),
    max_leaves=25,
)


# --- JSON -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b'{"a":1}x', "invalid character 'x' after top-level value"),
        (b"{a:1}", "invalid character 'a' at byte 1: object keys must be strings"),
        (b'"\xff"', "invalid UTF-8 at byte 0"),
        (b"1e999", "number out of range"),
        (b"NaN", "invalid character 'N' at byte 0: invalid character"),
    ],
)
def test_broken_json_is_described(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        documents.read_json(text)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"\ud83d\ude00 \ud83dx \ude00"', "\U0001f600 \ufffdx \ufffd"),
        (rb'"\\ud800 \ud800"', "\\ud800 \ufffd"),
        (rb'{"\udfff": 1}', {"\ufffd": 1}),
    ],
)
def test_half_a_surrogate_pair_reads_as_the_replacement_character(text: bytes, value: JSON) -> None:
    assert documents.read_json(text) == value


ESCAPES = [rb"\ud83d", rb"\uDE00", rb"\\", rb"\n", rb"\u0041", b"ud800", b"x"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(ESCAPES), max_size=8))
def test_among_any_escapes_only_halves_are_replaced(parts: list[bytes]) -> None:
    text = b'"' + b"".join(parts) + b'"'
    assert documents.read_json(text) == re.sub("[\ud800-\udfff]", "\ufffd", json.loads(text))


@pytest.mark.parametrize("text", [b'"\xff\xff"', b'"\xff\xff \\ud800"'])
def test_no_half_makes_a_broken_text_readable(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        documents.read_json(text)


def calls_of(work: Callable[[], object]) -> int:
    """How many Python functions are called: what time is made of, and the same on every machine."""
    count = 0

    def note(frame: object, event: str, _: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("escape", [rb"\n", rb"\\", rb"\u003a", rb"\ud800", rb"\ud83d\ude00", rb"x\ny"])
def test_escapes_cost_no_step_each(escape: bytes) -> None:
    def broken() -> None:
        with pytest.raises(ValueError, match="unexpected end"):
            documents.read_json(b'{"a":"' + escape * 50_000)

    sound = b'{"a":"\\u003a' + escape * 50_000 + b'"}'
    assert calls_of(broken) < 1000
    assert calls_of(lambda: documents.find_duplicates(sound, {"a": ""})) < 1000


def test_one_repeated_key_among_very_many_is_found_at_once() -> None:
    text = encode({f"k{number}": number for number in range(40_000)})[:-1] + b',"k7":1}'
    began = time.process_time()
    assert documents.find_duplicates(text, documents.read_json(text)) == ["k7"]
    assert time.process_time() - began < 5


def test_repeated_keys_with_half_a_surrogate_pair_can_be_named() -> None:
    text = rb'{"\ud800": 1, "\ud800": 2}'
    assert documents.find_duplicates(text, documents.read_json(text)) == ["\ufffd"]


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_hundred_levels_are_enough_for_anybody(opening: bytes, closing: bytes) -> None:
    documents.read_json(opening * 100 + b"1" + closing * 100)
    for depth in (101, 5_000, 200_000):
        with pytest.raises(ValueError, match="exceeded max depth"):
            documents.read_json(opening * depth + b"1" + closing * depth)


def test_brackets_inside_texts_do_not_nest() -> None:
    value = {"a": "[" * 500, "b": [{"c": "{" * 500}] * 200}
    assert documents.read_json(json.dumps(value).encode()) == value


def test_repeated_keys_are_found_wherever_they_are() -> None:
    text = b'{"spec":{"a":1,"list":[{"b":1,"b":2}],"a" :2},"spec2":{"a":1,"a":1,"a":1}}'
    assert documents.find_duplicates(text, documents.read_json(text)) == [
        "spec.a",
        "spec.list[0].b",
        "spec2.a",
    ]


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"b":":::","c":{"a":"http://x"}}',
        b'{ "a" : 1 , "b" : "\\":" }',
        b'{"a":"\\u003a\\u003c","b":1}',
        '{"ä":1,"b":"일이삼:"}'.encode(),
    ],
)
def test_colons_in_texts_are_not_mistaken_for_keys(text: bytes) -> None:
    assert documents.find_duplicates(text, documents.read_json(text)) == []


def test_an_escaped_colon_cannot_hide_a_repeated_key() -> None:
    text = b'{"a":"\\u003a","a":"\\u003a:"}'
    assert documents.find_duplicates(text, documents.read_json(text)) == ["a"]


@settings(deadline=None)
@given(json_values, st.sampled_from([None, 1]), st.booleans())
def test_what_was_written_without_repetition_has_none(value: JSON, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii).encode()
    assert documents.find_duplicates(text, documents.read_json(text)) == []


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_either_json_or_a_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        documents.read_json(data)


# --- YAML -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("off", False),
        ("~", None),
        ('"yes"', "yes"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("1:30", "1:30"),
        ("010", 8),
        ("08", 8.0),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-7", -7),
        ("+7", 7),
        ("1.2.3", "1.2.3"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)),
        ("!!str 5", "5"),
        ("!!float 5", 5.0),
        ("!!binary aGk=", "hi"),
        ("!custom x", "x"),
        ("-", [None]),
        ("", None),
    ],
)
def test_yaml_words_have_the_types_kubernetes_gives_them(text: str, value: JSON) -> None:
    found = documents.read_yaml(text.encode())
    assert (found, type(found)) == (value, type(value))


def test_yaml_keys_become_text() -> None:
    assert documents.read_yaml(b"1: a\ntrue: b\n2.5: c") == {"1": "a", "true": "b", "2.5": "c"}


def test_yaml_merge_keys_fill_in_what_is_missing() -> None:
    text = b"base: &b {p: 1, q: 2}\nmore: &m {q: 3, r: 4}\nmade: {<<: [*b, *m], p: 9}"
    assert documents.read_yaml(text)["made"] == {"p": 9, "q": 2, "r": 4}


def test_yaml_aliases_are_copies() -> None:
    found = documents.read_yaml(b"a: &x {l: [1]}\nb: *x")
    found["b"]["l"].append(2)
    assert found["a"] == {"l": [1]}


def test_only_the_first_yaml_document_counts() -> None:
    assert documents.read_yaml(b"---\na: 1\n---\nb: 2\n") == {"a": 1}


def test_repeated_yaml_keys_are_named_with_their_line() -> None:
    said: list[str] = []
    assert documents.read_yaml(b"a: 1\nb: 2\na: 3\n", said) == {"a": 3, "b": 2}
    assert said == ['yaml: unmarshal errors:\n  line 3: key "a" already set in map']


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a: [", "yaml: line 2: did not find expected node content"),
        (b"a: *nowhere", "yaml: unknown anchor 'nowhere' referenced"),
        (b"&a [*a]", "yaml: anchor 'a' value contains itself"),
        (b"a: .nan", "json: unsupported value: nan"),
        (b"[a]: b", "error converting YAML to JSON: unsupported map key of type: list"),
        (b"~: b", "error converting YAML to JSON: unsupported map key of type: null"),
        (b"a: \x00", "yaml: control characters are not allowed"),
        (b"\xff\xfe\xff", "yaml: invalid UTF-8 at byte 0"),
        (b"a: !!int x", "yaml: cannot decode `x` as a !!int"),
        (b"<<: 3", "yaml: map merge requires map or sequence of maps as the value"),
        (b"[" * 5000, "yaml: exceeded max depth"),
    ],
)
def test_broken_yaml_is_described(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        documents.read_yaml(text)
    assert str(caught.value) == why


def test_a_bomb_of_aliases_is_defused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    with pytest.raises(ValueError, match="excessive aliasing"):
        documents.read_yaml("\n".join(lines).encode())


def test_aliases_cannot_nest_deeper_than_brackets() -> None:
    lines = ["a0: &a0 []"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 150)]
    with pytest.raises(ValueError, match="exceeded max depth"):
        documents.read_yaml("\n".join(lines).encode())


@settings(deadline=None)
@given(json_values)
def test_what_is_written_as_yaml_is_read_back(value: JSON) -> None:
    assert documents.read_yaml(documents.write_yaml(value)) == value


@settings(deadline=None)
@given(st.text("ab:-[]{}&*!|> \n\t'\"#%@,?<1.~", max_size=30))
def test_any_text_is_either_yaml_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        documents.read_yaml(text.encode())


@pytest.mark.parametrize(
    "text", ["y", "N", "08", "0o7", "1_0", "<<", ".nan", "1e3", "null", "2024-01-01", "", "-.5"]
)
def test_texts_that_look_like_something_else_are_quoted(text: str) -> None:
    assert documents.read_yaml(documents.write_yaml({text: [text]})) == {text: [text]}


def test_yaml_is_written_without_anchors() -> None:
    shared = {"x": 1}
    assert documents.write_yaml({"a": shared, "b": shared}) == b"a:\n  x: 1\nb:\n  x: 1\n"
