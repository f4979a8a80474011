"""A terminal that is a container's own: its first process has to lead a session inside, whose terminal it is.

Bubblewrap's session is outside of the container's process namespace, where a shell cannot make its jobs the
terminal's foreground. So the command begins with a program of the container that takes the terminal over.
"""

from __future__ import annotations

import sys

from trainshed.runner.sandbox.view import View, is_program

_PROGRAMS = ("/usr/bin/setsid", "/bin/setsid")
_TAKE = "import fcntl,os,sys,termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"


def takeover(view: View, root: str) -> tuple[str, ...]:
    """What to put before the command; nothing where the container has no such program."""
    for program in _PROGRAMS:
        if is_program(view, program):
            return program, "-c", "--"
    if root == "/":
        return sys.executable, "-I", "-S", "-c", f"{_TAKE} os.execvp(sys.argv[1], sys.argv[1:])"
    return ()
