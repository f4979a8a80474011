"""Time on a processor of each part of a Trainshed, with that of the children it has waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainshed.compose import statefile
from trainshed.compose.datafolder import DataFolder

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds(data: Path) -> dict[str, float]:
    """By part; sandboxes and what runs in them are children of their holder, and that one is of the agent."""
    folder = DataFolder(data, data)
    paths = {name: folder.note(name) for name in ("operator", "agent", "backend")} | {"server": folder.state}
    notes = {name: statefile.read_any(path) for name, path in paths.items()}
    pids = {name: note.process.pid for name, note in notes.items() if note is not None}
    found = {name: sum(_times(pid)) for name, pid in pids.items()}
    holders = _children(pids["agent"])
    supervisors = [child for holder in holders for child in _children(holder)]
    found["sandboxes"] = sum(sum(_times(pid)) for pid in (*holders, *supervisors))
    return found


def per_job(before: Mapping[str, float], after: Mapping[str, float], count: int) -> str:
    spent = {name: (after[name] - before[name]) * 1000 / count for name in after}
    words = ", ".join(f"{name} {each:.1f}" for name, each in spent.items())
    return f"{words}; {sum(spent.values()):.1f} in all"


def _times(pid: int) -> Iterator[float]:
    """User and system time, of its own and of its children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended, and its parent has its times
        return iter(())
    return (int(field) / _TICKS for field in fields[11:15])


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
