"""Children of the holder that go on in Python."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable

NODE_NETWORK = 200
"""The descriptor under which the holder and every supervisor keep the node's network namespace."""
OUTSIDE = 201
"""A pipe that closes when the last of us has ended; the way out ends with it."""
COMMON = (0, 1, 2, NODE_NETWORK, OUTSIDE)
"""What all of us have open."""


def spawn(work: Callable[[], int], keep: Iterable[int]) -> int:
    """Fork; the child does the work and ends with its answer, with none but these and the common descriptors.

    With the others open, a child would keep alive the namespaces of other pods and our listening socket.
    """
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        shed({*COMMON, *keep})
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        code = work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(code)


def shed(keep: set[int]) -> None:
    """Close all others. One call for each gap: there are as many descriptors as pods, many times over.

    Up to the last one only: not every Python asks the kernel, and there may be room for a billion.
    """
    first, end = 0, max(map(int, os.listdir("/proc/self/fd"))) + 1
    for descriptor in [*sorted(one for one in keep if one < end), end]:
        if first < descriptor:  # of an empty range from 0 on, Python closes everything
            os.closerange(first, descriptor)
        first = descriptor + 1
