"""How long logs are kept: by age and by size, the oldest go first; those of living pods stay."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainshed.runner.logs import kept

WEEK = timedelta(days=7)
MOST_BYTES = 10 * 1024**3


@dataclass(frozen=True, slots=True)
class Rule:
    age: timedelta = WEEK
    """Counted from the last line."""
    most_bytes: int = MOST_BYTES
    """Of all logs together."""


@dataclass(frozen=True, slots=True)
class Stock:
    """The logs of one pod."""

    folder: Path
    changed: datetime
    size: int
    is_alive: bool


def outdated(stocks: Iterable[Stock], rule: Rule, now: datetime) -> list[Path]:
    """The folders to remove, oldest first."""
    ordered = sorted(stocks, key=lambda stock: stock.changed)
    total = sum(stock.size for stock in ordered)
    gone = []
    for stock in ordered:
        if stock.is_alive:
            continue
        if total > rule.most_bytes or now - stock.changed > rule.age:
            gone.append(stock.folder)
            total -= stock.size
    return gone


def sweep(root: Path, rule: Rule, alive: Collection[str], now: datetime) -> list[Path]:
    """Remove what is outdated; `alive` has the uids of pods that are still there. Blocks on the disk."""
    gone = outdated((_stock(folder, alive) for folder in kept.pod_folders(root)), rule, now)
    for folder in gone:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()  # the namespace's own, if this was its last
    return gone


def _stock(folder: Path, alive: Collection[str]) -> Stock:
    size, changed = 0, 0.0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = os.stat(os.path.join(place, name))
                size += found.st_size
                changed = max(changed, found.st_mtime)
    uid = folder.name.rpartition("_")[2]
    return Stock(folder, datetime.fromtimestamp(changed, UTC), size, uid in alive)
