"""kill -9 at random moments under concurrent writes: nothing acknowledged is lost, nothing is half there."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

from trainshed.store.records import Event, Record
from trainshed.store.settings import Settings
from trainshed.store.store import Store

CHILD = Path(__file__).parent / "children" / "crash.py"
ROUNDS = 8
SEED = 20260

Told = dict[str, tuple[str, int, str]]
"""By name: the verb, revision and text of the newest acknowledged write."""


async def test_every_acknowledged_write_survives_kill_9(tmp_path: Path) -> None:
    choice = random.Random(SEED)
    told: Told = {}
    revision = 0
    for turn in range(ROUNDS):
        lines = _run_and_kill(tmp_path / "data", seed=turn, after=choice.randrange(1, 1500))
        for verb, name, number, text in map(str.split, lines):
            told[name] = max(
                told.get(name, ("", 0, "")), (verb, int(number), text), key=lambda known: known[1]
            )
            revision = max(revision, int(number))
        revision = await _check(tmp_path / "data", told, revision)
    print(f"seed {SEED}: {revision} revisions over {ROUNDS} kills")


def _run_and_kill(folder: Path, seed: int, after: int) -> list[str]:
    """The complete lines of a child that was killed as soon as it had acknowledged `after` writes."""
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(folder), str(seed)], stdout=subprocess.PIPE, text=True
    ) as child:
        guard = threading.Timer(60, child.kill)
        guard.start()
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        head = [child.stdout.readline() for _ in range(after)]
        child.kill()
        tail = child.stdout.readlines()
        guard.cancel()
    assert child.returncode == -9
    return [line for line in head + tail if line.endswith("\n")]


async def _check(folder: Path, told: Told, least: int) -> int:
    store = Store.open(folder, Settings(window_events=300))
    try:
        assert store.revision >= least
        watcher = store.watch("things", None, store.compacted)
        events: list[Event] = []
        while batch := await watcher.next(0):
            events += batch
        revisions = [event.record.revision for event in events]
        assert revisions == sorted(set(revisions))
        present = {_name(record): record for record in store.list("things")}
        assert all(record.value.startswith(b"%d:" % record.revision) for record in present.values())
        deleted = {_name(event.record): event.record.revision for event in events if event.type == "DELETED"}
        for name, known in told.items():
            _agrees(present.get(name), deleted.get(name, 0), *known)
        return store.revision
    finally:
        await store.close()


def _agrees(record: Record | None, deleted: int, verb: str, revision: int, text: str) -> None:
    """What is there is the acknowledged state, or a later one whose acknowledgement the kill cut off."""
    if record is None:
        assert verb == "delete" or deleted > revision
    elif record.revision == revision:
        assert verb == "put"
        assert record.value.startswith(f"{revision}:{text}:".encode())
    else:
        assert record.revision > revision


def _name(record: Record) -> str:
    return f"{record.key.namespace}/{record.key.name}"
