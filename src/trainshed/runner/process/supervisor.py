"""The process that looks after one container without a sandbox.

python -I -S supervisor.py < words as JSON        answers with one line of JSON, then goes on alone
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
import termios
import time
from typing import TYPE_CHECKING

if __name__ == "__main__":  # without site packages, our own have to be pointed out
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))

from trainshed.runner.process import orphans, records
from trainshed.runner.process.logfile import LogFile
from trainshed.runner.process.outputs import Outputs
from trainshed.runner.process.records import Ending, Run
from trainshed.runner.process.supervision import Plumbing, Watch, exit_code, lay, reset_signals

if TYPE_CHECKING:
    from trainshed.kube.objects import Object

_DRAIN_SECONDS = 5.0


def main() -> int:
    job: Object = json.load(sys.stdin)
    orphans.adopt_orphans()
    os.makedirs(job["place"], mode=0o700)
    plumbing = lay(job["place"], tty=job["tty"], stdin=job["stdin"])
    outputs = Outputs(LogFile(job["log"]), plumbing.outputs, is_typed=job["tty"])
    watch = Watch(outputs, plumbing.entrance)
    begun = time.time()
    pid, trouble = _start(job, plumbing)
    if trouble:
        shutil.rmtree(job["place"], ignore_errors=True)
        _say({"error": trouble})
        return 1
    me, it = records.identify(os.getpid()), records.identify(pid)
    records.write_run(
        job["place"],
        Run(
            job["pod"],
            job["container"],
            job["attempt"],
            me,
            it,
            pid,
            begun,
            job["workdir"],
            is_alone=False,
            places=job["places"],
        ),
    )
    _say({"pid": pid, "at": begun})
    status = watch.until_end(pid)
    orphans.end_all(pid, os.getpid())  # as the end of a container ends all in it
    outputs.drain(_DRAIN_SECONDS)
    records.write_ending(job["place"], Ending(exit_code(status), False, begun, time.time()))
    return 0


def _say(answer: Object) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(answer), flush=True)
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(quiet, number)


def _start(job: Object, plumbing: Plumbing) -> tuple[int, str]:
    """The process, and why it is none."""
    failure, failed = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _become(job, plumbing)
        except OSError as error:
            os.write(failed, _words(job, error).encode())
        os._exit(127)
    os.close(failed)
    plumbing.close_theirs()
    trouble = b""
    while piece := os.read(failure, 4096):
        trouble += piece
    os.close(failure)
    if trouble:
        os.waitpid(pid, 0)
    return pid, trouble.decode(errors="replace")


def _words(job: Object, error: OSError) -> str:
    if error.filename == job["workdir"]:
        return f"working directory {job['workdir']} cannot be used: {error.strerror}"
    name = job["argv"][0]
    if isinstance(error, FileNotFoundError) and "/" not in name:
        return f'exec: "{name}": executable file not found in $PATH'
    return f'exec: "{name}": {(error.strerror or str(error)).lower()}'


def _become(job: Object, plumbing: Plumbing) -> None:
    signal.set_wakeup_fd(-1)
    reset_signals()
    os.setsid()
    orphans.die_with_parent()
    plumbing.wear()
    if job["tty"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(job["workdir"])
    if not job["argv"]:
        raise FileNotFoundError(2, "no command specified")
    os.execvpe(job["argv"][0], job["argv"], job["env"])


if __name__ == "__main__":
    sys.exit(main())
