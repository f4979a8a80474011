"""What the processes of all parts have in common: how they begin, report, log and fail."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO

from trainshed.compose import logs, orders, trouble
from trainshed.compose.orders import Order
from trainshed.compose.parts import Part
from trainshed.compose.trouble import Trouble
from trainshed.kube import ages

log = logging.getLogger(__name__)

READY = "ready"
START_SECONDS = 60.0

Ready = Callable[[], None]
Work = Callable[[Order, Ready], None]


def main(part: Part, work: Work) -> int:
    """Do the work that was ordered; whoever started us is told once that it runs, or why it does not."""
    order = orders.read(sys.argv[1])
    if order.report is not None:
        signal.alarm(int(START_SECONDS) + 5)  # whoever started us may be gone: this ends a start that hangs
    for inherited in filter(None, (order.report, order.turn)):
        os.set_inheritable(inherited, False)
    report = os.fdopen(order.report, "w", encoding="utf-8") if order.report is not None else None
    logs.begin(file=order.folder.log_of(part.name))

    def ready() -> None:
        signal.alarm(0)
        if order.turn is not None:
            os.close(order.turn)
        _say(report, READY)

    try:
        # Nobody's folder stays busy, or vanishes under us, because a part was once started from it.
        os.chdir(order.root)
        work(order, ready)
    except Trouble as error:
        log.error("%s", error.message)
        _say(report, error.written())
        return error.code
    except Exception as error:
        log.exception("the %s failed", part.name)
        failed = Trouble(
            f"the {part.name} failed: {type(error).__name__}: {error}",
            f"see {order.folder.log_of(part.name)}",
            trouble.FAILED,
        )
        _say(report, failed.written())
        return failed.code
    return 0


def now() -> str:
    return ages.timestamp(datetime.now(UTC))


def _say(report: TextIO | None, line: str) -> None:
    """Tell the process that started us, once; it may be gone by now."""
    if report is not None and not report.closed:
        with contextlib.suppress(BrokenPipeError), report:
            report.write(f"{line}\n")
