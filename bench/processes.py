"""Time on a processor of each part of a Trainshed, with that of the children it has waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainshed.compose import statefile
from trainshed.compose.datafolder import DataFolder

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds(data: Path) -> dict[str, float]:
    """By part; what sandboxes and the programs in them took is that of their holder, a child of the agent."""
    folder = DataFolder(data, data)
    paths = {name: folder.note(name) for name in ("operator", "agent", "backend")} | {"server": folder.state}
    notes = {name: statefile.read_any(path) for name, path in paths.items()}
    pids = {name: note.process.pid for name, note in notes.items() if note is not None}
    found = {name: sum(_times(pid)) for name, pid in pids.items()}
    found["sandboxes"] = sum(sum(_times(pid)) for pid in _children(pids["agent"]))
    return found


def per_job(before: Mapping[str, float], after: Mapping[str, float], count: int) -> str:
    spent = {name: (after[name] - before[name]) * 1000 / count for name in after}
    words = ", ".join(f"{name} {each:.1f}" for name, each in spent.items())
    return f"{words}; {sum(spent.values()):.1f} in all"


def _times(pid: int) -> Iterator[float]:
    """User and system time, of its own and of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(field) / _TICKS for field in fields[11:15])


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
