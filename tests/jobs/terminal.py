"""A command in a terminal of its own, to be typed at."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

SECONDS = 60.0


class Terminal:
    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def read_until(self, words: str) -> None:
        """Read on to these words; what comes behind them stays for later."""
        until = time.monotonic() + SECONDS
        while words not in self._shown:
            left = until - time.monotonic()
            assert left > 0, f"{words!r} was not shown: {self._shown[-2000:]!r}"
            self._shown += self._read(left)
        self._shown = self._shown.partition(words)[2]

    def waiting(self) -> str:
        """What was shown behind the words that were read last."""
        while piece := self._read(0):
            self._shown += piece
        return self._shown

    def type(self, words: str) -> None:
        os.write(self._master, words.encode())

    def _read(self, seconds: float) -> str:
        if not select.select([self._master], [], [], seconds)[0]:
            return ""
        return os.read(self._master, 65536).decode(errors="replace")
