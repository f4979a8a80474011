"""The command line's entry. It imports nothing large, so that Ctrl-C is heeded from the first moment."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code: 0 done, 1 failed, 2 wrong usage, 3 could not start or reach."""
    quietly = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if quietly:
        # While there is nothing to clean up, Ctrl-C just ends us: no traceback from the midst of imports.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from trainshed.cli import commands

    if quietly:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = commands.run(sys.argv[1:] if arguments is None else arguments)
    if quietly:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code
