"""How the server's process logs: one line per event, to its standard error."""

from __future__ import annotations

import logging
import sys


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # That is the web server's name for all its messages, good or bad; it reads like an error.
        record.name = record.name.removesuffix(".error")
        return super().format(record)


def begin(level: int = logging.INFO) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    # Its greetings repeat what we say ourselves, with an address that clients cannot use.
    logging.getLogger("uvicorn").setLevel(max(level, logging.WARNING) if level >= logging.INFO else level)
    # A log on a full disk must not drown its last lines in tracebacks about itself.
    logging.raiseExceptions = False
