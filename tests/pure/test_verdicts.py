"""The one line out of many that says why a program ended."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube import verdicts
from trainshed.kube.objects import decode, encode

TRACEBACK = """\
step 3 loss 0.5
Traceback (most recent call last):
  File "/workspace/train.py", line 7, in <module>
    import foo
ModuleNotFoundError: No module named 'foo'
"""
BYSTANDER = """\
[1]:
  rank      : 2 (local_rank: 0)
  exitcode  : -15 (pid: 7)  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 7
"""
TABLE = """\
E1115 12:00:00.000000 12 torch/distributed/elastic/api.py:874] failed (exitcode: 1) local_rank: 0
Traceback (most recent call last):
  File "/env/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-15_12:00:00
  host      : t-node-0-1
  rank      : 1 (local_rank: 0)
  exitcode  : {code} (pid: 42)
  error_file: <N/A>
  traceback : {trace}
============================================================
"""
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "train.py", line 1, in <module>
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "train.py", line 3, in main
    | ValueError: the learning rate is negative
    +------------------------------------
"""
WORRY = "W1115 12:00:00.000000 12 torch/distributed/run.py:874] Setting OMP_NUM_THREADS"
UNKNOWN = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"


def table(code: int = 1, trace: str = UNKNOWN) -> str:
    return TABLE.format(code=code, trace=trace)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (TRACEBACK, "ModuleNotFoundError: No module named 'foo'"),
        (TRACEBACK + table(), "ModuleNotFoundError: No module named 'foo'"),
        (GROUP, "ValueError: the learning rate is negative"),
        ("[rank1]: ValueError: loss is not a number\n" + table(), "ValueError: loss is not a number"),
        ("[default0]:RuntimeError: shapes differ", "RuntimeError: shapes differ"),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried",
            "torch.OutOfMemoryError: CUDA out of memory. Tried",
        ),
        ("KeyboardInterrupt\n", "KeyboardInterrupt"),
        (
            "Cloning into '/w'...\nfatal: '/x' does not appear to be a git repository\n"
            "fatal: Could not read from remote repository.\n\nPlease make sure you have the rights\n",
            "fatal: '/x' does not appear to be a git repository",
        ),
        (
            "Cloning into '/w'...\ngit@example.org: Permission denied (publickey).\n"
            "fatal: Could not read from remote repository.\n\nand the repository exists.\n",
            "git@example.org: Permission denied (publickey).",
        ),
        (
            "Cloning into '/w'...\nwarning: Could not find remote branch v9 to clone.\n"
            "fatal: Remote branch v9 not found in upstream origin\n",
            "fatal: Remote branch v9 not found in upstream origin",
        ),
        ("Cloning into '/w'...\nfatal: early EOF\n", "fatal: early EOF"),
        ("fatal: no tags\nbash: line 3: foo: command not found\n", "bash: line 3: foo: command not found"),
        (table(-9, "Signal 9 (SIGKILL) received by PID 42"), "Signal 9 (SIGKILL) received by PID 42"),
        (table(3), "process 1 ended with exit code 3"),
        (
            f"begins\nno file a.yaml\nno file a.yaml\n{WORRY}\n" + table(),
            "process 1 ended with exit code 1; last line: no file a.yaml",
        ),
        ("step 1\nstep 2\n" + table(), "process 1 ended with exit code 1"),
        ("Connection reset by peer\nframe #7: main\n" + table(), "process 1 ended with exit code 1"),
        (
            f"no file a.yaml\n{verdicts.GAP}\n" + table(),
            "process 1 ended with exit code 1; last line: no file a.yaml",
        ),
        (
            "usage: train.py [-h]\ntrain.py: error: argument --epochs: invalid int value: 'x'\n" + table(2),
            "train.py: error: argument --epochs: invalid int value: 'x'",
        ),
        ("hello\nbash: line 2: tronchrun: command not found", "bash: line 2: tronchrun: command not found"),
        (
            "python: can't open file '/w/none.py': [Errno 2] No such file or directory",
            "python: can't open file '/w/none.py': [Errno 2] No such file or directory",
        ),
        (
            "Cloning into 'x'...\nfatal: repository 'x' does not exist\n",
            "fatal: repository 'x' does not exist",
        ),
        ("working\nBus error\nbye", "Bus error (is /dev/shm too small?)"),
        ("all is lost\n----\n}\n", "all is lost"),
        ("\n  \n", ""),
        ("", ""),
    ],
)
def test_the_telling_line_is_found(message: str, wanted: str) -> None:
    assert verdicts.cause(message) == wanted


CALLED = 'Traceback (most recent call last):\n  File "/work/main.py", line 2, in <module>\n    import train\n'


def unreadable(why: str, *, file: str = "/work/train.py", before: str = "") -> str:
    return f'{before}  File "{file}", line 7\n    x = = 1\n        ^\n{why}\n'


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (unreadable("SyntaxError: invalid syntax"), "SyntaxError: invalid syntax (train.py, line 7)"),
        (
            unreadable("IndentationError: unexpected indent", before=CALLED) + table(),
            "IndentationError: unexpected indent (train.py, line 7)",
        ),
        (unreadable("TabError: tabs", file="<string>"), "TabError: tabs (<string>, line 7)"),
        (
            "".join(f"[rank1]: {line}\n" for line in unreadable("SyntaxError: a").splitlines()),
            "SyntaxError: a (train.py, line 7)",
        ),
        (unreadable("SyntaxError: a") + "bye\n", "SyntaxError: a (train.py, line 7); last line: bye"),
        (CALLED + "SyntaxError: made by hand\n", "SyntaxError: made by hand"),
        (CALLED + "AssertionError\n", "AssertionError (main.py, line 2)"),
        (CALLED + "AssertionError: 1 is not 2\n", "AssertionError: 1 is not 2"),
        ("AssertionError\n", "AssertionError"),
        (unreadable("ValueError: no number"), "ValueError: no number"),
    ],
)
def test_a_program_that_cannot_be_read_is_told_with_file_and_line(message: str, wanted: str) -> None:
    assert verdicts.cause(message) == wanted


def test_file_and_line_that_were_put_first_are_not_lost_where_the_cut_goes_through_the_picture() -> None:
    told = "SyntaxError: invalid syntax (train.py, line 7)"
    rest = f"x = = 1\nSyntaxError: invalid syntax\n{table()}"
    assert verdicts.cause(f"{told}\n{verdicts.GAP}\n{table()}") == told
    assert verdicts.cause(f"{told}\n{verdicts.GAP}\n{rest}") == told


FIRST = ('  File "/work/a.py", line 3{call}', "    x = = 1", "        ^", "{why}")
SECOND = ('  File "/work/b.py", line 9{call}', "    y = = 1", "        ^", "{why}")


def between_each_other(prefixes: tuple[str, str], why: str, call: str) -> str:
    """Two processes that fail at once; the first one's exception comes last."""
    first, second = ([line.format(why=why, call=call) for line in lines] for lines in (FIRST, SECOND))
    ours, theirs = ([prefixes[0] + line for line in first], [prefixes[1] + line for line in second])
    return "\n".join([ours[0], *theirs, *ours[1:]])


@pytest.mark.parametrize(("why", "call"), [("SyntaxError: bad", ""), ("AssertionError", ", in main")])
@pytest.mark.parametrize(
    "prefixes",
    [("[rank0]: ", "[rank1]: "), ("[default0]:", "[default1]:"), ("[rank0]: ", ""), ("", "[rank1]: ")],
)
def test_an_exception_is_not_told_with_the_place_of_another_process(
    prefixes: tuple[str, str], why: str, call: str
) -> None:
    assert verdicts.cause(between_each_other(prefixes, why, call)) == f"{why} (a.py, line 3)"


def test_no_place_is_told_where_only_another_process_names_one() -> None:
    assert verdicts.cause('[rank1]:   File "/b.py", line 9\n[rank0]: SyntaxError: bad') == "SyntaxError: bad"


def test_a_place_is_found_above_the_lines_of_many_other_processes() -> None:
    pictures = zip(*([f"[rank{rank}]: {line}" for line in FIRST] for rank in range(16)), strict=True)
    text = "\n".join(line for lines in pictures for line in lines).format(why="SyntaxError: bad", call="")
    assert verdicts.cause(text) == "SyntaxError: bad (a.py, line 3)"


def test_stamps_of_a_log_do_not_part_an_exception_from_its_place() -> None:
    lines = unreadable("SyntaxError: bad").splitlines()
    text = "\n".join(f"2026-01-01T00:00:0{at}Z stderr F {line}" for at, line in enumerate(lines))
    assert verdicts.cause(text) == "SyntaxError: bad (train.py, line 7)"


@pytest.mark.parametrize("said", ["ValueError: bad", "[rank0]: ValueError: bad", "Bus error", "bye"])
def test_what_is_told_can_be_sent(said: str) -> None:
    told = [verdicts.cause(said), verdicts.telling(said), verdicts.telling_line(said)]
    assert {type(line) for line in told} == {str}
    assert decode(encode(told)) == told


@pytest.mark.parametrize("hostile", ["[" + "1" * 200_000, "[rank" * 40_000, 'File "' + "/" * 200_000])
def test_a_long_line_that_is_almost_a_prefix_or_a_place_is_read_once(hostile: str) -> None:
    assert verdicts.cause(f"{hostile}\nAssertionError") == "AssertionError"


HANDLED = "Traceback (most recent call last):\nValueError: old, handled\n"


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ("now training\ndataset is empty\n", "ValueError: old, handled; last line: dataset is empty"),
        (
            "now training\ndataset is empty\n" + table(),
            "ValueError: old, handled; last line: dataset is empty",
        ),
        ("step 7 loss 0.5\nstep 8 loss 0.25\n", "ValueError: old, handled"),
        ("x" * verdicts.LONGEST, "ValueError: old, handled"),
        ("[W1115 12:00:00.1 group.cpp:9] Warning: not destroyed\n", "ValueError: old, handled"),
        ("/usr/lib/tracker.py:9: UserWarning: leaked\nwarnings.warn('leaked')\n", "ValueError: old, handled"),
    ],
)
def test_what_a_program_said_after_an_exception_is_told_with_it(after: str, wanted: str) -> None:
    assert verdicts.cause(HANDLED + after) == wanted


@pytest.mark.parametrize(
    "coloured",
    [
        "\x1b[1;31mValueError\x1b[0m\x1b[31m: no data\x1b[0m",
        "\x1b]0;owned\x07ValueError: no data",
        "\x1b]8;;https://example.org\x1b\\ValueError\x1b]8;;\x1b\\: no data",
        "\x9b31mValueError: no\x00 data\x08",
        "\u202eValueError: no data\x1b",
        "50%\rValueError: no data\r\n",
    ],
)
def test_colours_and_control_characters_are_no_part_of_a_cause(coloured: str) -> None:
    assert verdicts.cause(f"\x1b[2mloading\x1b[0m\n{coloured}\n") == "ValueError: no data"


def test_only_a_line_that_is_known_for_it_tells_a_cause() -> None:
    assert verdicts.telling("step 27\nstep 28\n") == ""
    assert verdicts.telling("step 28\nBus error\n") == "Bus error (is /dev/shm too small?)"


def test_why_the_agent_ended_a_container_comes_before_its_last_words() -> None:
    message = verdicts.by_agent("its liveness probe failed", "step 7\n")
    assert verdicts.agents_reason(message) == "its liveness probe failed"
    assert message.endswith("\nstep 7")
    assert verdicts.agents_reason("step 7") == verdicts.agents_reason("") == ""


def test_a_failure_of_its_own_tells_more_than_the_loss_of_a_neighbour() -> None:
    own = "ZeroDivisionError: division by zero"
    echo = "torch.distributed.DistBackendError: NCCL error: Connection closed by peer"
    assert verdicts.cause(f"{own}\n{echo}\n") == own
    assert verdicts.cause(f"{echo}\n") == echo
    assert verdicts.is_echo(echo)
    assert not verdicts.is_echo(own)


@given(st.text())
def test_whatever_was_said_the_cause_is_one_short_line(message: str) -> None:
    found = verdicts.cause(message)
    assert not any(unicodedata.category(letter) == "Cc" for letter in found if letter != "\t")
    assert len(found.splitlines()) <= 1
    assert len(found) <= verdicts.LONGEST


@given(st.text(min_size=1, alphabet=st.characters(categories=["L", "N"])))
def test_words_are_never_met_with_silence(message: str) -> None:
    assert verdicts.cause(message)


def test_a_process_that_torchrun_has_ended_itself_is_not_the_cause() -> None:
    unknown = TABLE.format(code=3, trace="To enable traceback see: https://pytorch.org")
    table = unknown.replace("  <NO_OTHER_FAILURES>\n", BYSTANDER)
    assert verdicts.cause(table) == "process 1 ended with exit code 3"
    aborted = TABLE.format(code=-6, trace="Signal 6 (SIGABRT) received by PID 42")
    table = aborted.replace("  <NO_OTHER_FAILURES>\n", BYSTANDER)
    assert verdicts.cause(table) == "Signal 6 (SIGABRT) received by PID 42"
    assert verdicts.cause(f"terminate called without an active exception\n{table}") == (
        "terminate called without an active exception"
    )


def test_a_line_from_further_above_is_told_without_the_lines_below_the_gap() -> None:
    message = f"ValueError: boom\n{verdicts.GAP}\n    return launch_agent(\n{TABLE.format(code=1, trace='x')}"
    assert verdicts.cause(message) == "ValueError: boom"
