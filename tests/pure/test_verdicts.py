"""The one line out of many that says why a program ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.kube import verdicts

TRACEBACK = """\
step 3 loss 0.5
Traceback (most recent call last):
  File "/workspace/train.py", line 7, in <module>
    import foo
ModuleNotFoundError: No module named 'foo'
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
UNKNOWN = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"


def table(code: int = 1, trace: str = UNKNOWN) -> str:
    return TABLE.format(code=code, trace=trace)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (TRACEBACK, "ModuleNotFoundError: No module named 'foo'"),
        (TRACEBACK + table(), "ModuleNotFoundError: No module named 'foo'"),
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
    assert len(found.splitlines()) <= 1
    assert len(found) <= verdicts.LONGEST


@given(st.text(min_size=1, alphabet=st.characters(categories=["L", "N"])))
def test_words_are_never_met_with_silence(message: str) -> None:
    assert verdicts.cause(message)
