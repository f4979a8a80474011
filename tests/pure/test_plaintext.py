"""What others wrote is shown without what would work on the reader's terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.cli import apply, console, output
from trainshed.jobs.applying import Outcome
from trainshed.kube.plaintext import one_line, plain

HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07and\x08 \x9b2Jmore"


@given(st.text())
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    assert not [
        letter for letter in plain(text) if unicodedata.category(letter) == "Cc" and letter not in "\t\n"
    ]
    assert not [letter for letter in one_line(text) if unicodedata.category(letter) == "Cc"]


@given(st.text(alphabet=st.characters(exclude_categories=["C"])))
def test_ordinary_words_stay_as_they_are(text: str) -> None:
    assert plain(text) == text


def test_tables_facts_and_news_never_work_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("NAME", "MESSAGE"), [("job", HOSTILE), ("other", "two\nlines")], {})
    print(output.pairs({"verdict": HOSTILE}))
    console.say(HOSTILE)
    console.say_end(HOSTILE, good=False)
    shown = capsys.readouterr()
    assert shown.out == "NAME   MESSAGE\njob    red and more\nother  two lines\nverdict  red and more\n"
    assert shown.err == "red and more\nred and more\n"


def test_outcomes_never_work_on_the_terminal_and_stay_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    apply.tell(Outcome(f"a/{HOSTILE}\nError: b", "created"), "file")
    apply.tell(Outcome("a/b", "", f"{HOSTILE}\n\nError: c.", HOSTILE), f"file {HOSTILE}")
    shown = capsys.readouterr()
    assert shown.out == "a/red and more Error: b created\n"
    [line] = shown.err.splitlines()
    assert line == "Error: file red and more: a/b: red and more Error: c. Hint: red and more."
