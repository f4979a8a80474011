"""Probes: settings, thresholds, and the requests they send; and what a container said last."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube.objects import Object
from trainshed.kube.verdicts import GAP, by_agent, cause
from trainshed.runner import actions, probes, probing, tails
from trainshed.runner.engine import Exit
from trainshed.runner.probes import Probe, Tally

PLAIN: Object = {"exec": {"command": ["true"]}}


def a_probe(successes: int = 1, failures: int = 3) -> Probe:
    spec = {**PLAIN, "successThreshold": successes, "failureThreshold": failures}
    found = probes.probe_of({"readinessProbe": spec}, "readiness")
    assert found is not None
    return found


def test_what_is_not_said_is_as_upstream_has_it() -> None:
    found = probes.probe_of({"livenessProbe": PLAIN}, "liveness")
    assert found == Probe("liveness", PLAIN, 0.0, 10.0, 1.0, 1, 3, None)


def verdicts(probe: Probe, answers: str) -> list[bool | None]:
    """`+` for a good answer, `-` for a bad one."""
    tally, found = Tally(), []
    for answer in answers:
        tally = tally.after(answer == "+", probe)
        found.append(tally.verdict)
    return found


@pytest.mark.parametrize(
    ("successes", "failures", "answers", "expected"),
    [
        (1, 3, "+", [True]),
        (1, 3, "---", [None, None, False]),
        (1, 3, "--+", [None, None, True]),
        (2, 1, "+-++", [None, False, False, True]),
        (1, 2, "+-+--", [True, True, True, True, False]),
    ],
)
def test_only_enough_equal_answers_in_a_row_change_the_verdict(
    successes: int, failures: int, answers: str, expected: list[bool | None]
) -> None:
    assert verdicts(a_probe(successes, failures), answers) == expected


@given(st.text("+-", max_size=30), st.integers(1, 4), st.integers(1, 4))
def test_a_verdict_always_has_enough_answers_behind_it(answers: str, good: int, bad: int) -> None:
    last = (verdicts(a_probe(good, bad), answers) or [None])[-1]
    if last is True:
        assert "+" * good in answers
    if last is False:
        assert "-" * bad in answers


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (True, True)),
        ({"livenessProbe": PLAIN}, (True, True)),
        ({"readinessProbe": PLAIN}, (True, False)),
        ({"startupProbe": PLAIN}, (False, False)),
    ],
)
def test_without_probes_a_container_is_ready_as_it_starts(spec: Object, expected: tuple[bool, bool]) -> None:
    assert probing.first_judgement(spec) == expected


def test_a_web_probe_sends_its_own_headers_instead_of_ours() -> None:
    action: Object = {
        "path": "healthz",
        "httpHeaders": [{"name": "user-agent", "value": "me"}, {"name": "X", "value": "1"}],
    }
    assert actions.request(action, 8080) == (
        b"GET /healthz HTTP/1.1\r\nHost: localhost:8080\r\nAccept: */*\r\nuser-agent: me\r\nX: 1\r\n"
        b"Connection: close\r\n\r\n"
    )


# --- last words ---


def log_lines(*texts: str) -> bytes:
    stamp = "2026-11-15T00:00:00.000000000Z stderr F "
    return "".join(f"{stamp}{text}\n" for text in texts).encode()


def test_the_message_a_program_left_counts_most(tmp_path: Path) -> None:
    (tmp_path / "said").write_text("disk full")
    (tmp_path / "log").write_bytes(log_lines("noise"))
    assert tails.last_words(tmp_path / "said", tmp_path / "log", 1) == "disk full"


@pytest.mark.parametrize(("code", "expected"), [(1, "Traceback\nValueError: x\n"), (0, "")])
def test_a_failure_without_a_message_is_told_by_the_end_of_its_log(
    tmp_path: Path, code: int, expected: str
) -> None:
    (tmp_path / "said").touch()
    (tmp_path / "log").write_bytes(log_lines("Traceback", "ValueError: x"))
    assert tails.last_words(tmp_path / "said", tmp_path / "log", code) == expected


def test_a_long_log_is_told_by_its_last_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(log_lines(*(f"line {number}" for number in range(5000))))
    found = tails.last_words(None, tmp_path / "log", 1)
    assert found.endswith("line 4999\n")
    assert found.startswith("line 4920\n"), "eighty lines"
    assert len(found) <= tails.MOST_TAIL


def test_one_endless_line_is_cut() -> None:
    assert len(tails.tail(log_lines("x" * 10_000))) == tails.MOST_TAIL


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert tails.last_words(tmp_path / "none", tmp_path / "none", 1) == ""


def test_what_only_the_engine_knows_comes_before_the_words_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(log_lines("step 7"))
    now = datetime.now(UTC)
    lost = Exit(137, 9, False, now, now, "its supervisor was killed")
    found = tails.words_of(lost, tmp_path / "none", tmp_path / "log")
    assert found == by_agent("its supervisor was killed", "step 7")


async def test_all_output_is_read_and_its_beginning_kept() -> None:
    program = "import os; os.write(2, b'e' * 300_000); os.write(1, b'o' * 300_000)"
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stderr is not None
    async with asyncio.timeout(20), actions.reading(running.stdout, running.stderr) as said:
        assert await running.wait() == 0
    assert said == [b"o" * 10240, b"e" * 10240]


def test_the_line_that_names_the_cause_is_kept_where_much_is_said_after_it() -> None:
    said = ["step 1", "[rank3]: ValueError: boom", *(f"  File launcher.py, line {n}" for n in range(200))]
    found = tails.tail(log_lines(*said))
    assert found.startswith(f"ValueError: boom\n{GAP}\n")
    assert found.endswith("line 199\n")
    assert len(found.encode()) <= tails.MOST_TAIL
    assert cause(found) == "ValueError: boom"


def test_file_and_line_of_a_program_that_cannot_be_read_are_kept_wherever_the_cut_is() -> None:
    said = ['  File "/work/train.py", line 7', "    x = = 1", "        ^", "SyntaxError: invalid syntax"]
    for after in range(0, 2 * tails.MOST_TAIL, 25):
        report = ["W1115 12:00:00 launcher] " + "." * 24] * (after // 50) + ["=" * (20 + after % 50)]
        found = tails.tail(log_lines(*said, *report))
        assert cause(found) == "SyntaxError: invalid syntax (train.py, line 7)"
        assert len(found.encode()) <= tails.MOST_TAIL
