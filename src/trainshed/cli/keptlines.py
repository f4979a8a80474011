"""Prints the lines that pods have left."""

from __future__ import annotations

import asyncio

from trainshed.cli import console
from trainshed.runner.logs import reading
from trainshed.runner.logs.kept import Kept

TRAINER = "node"


def show(found: list[Kept], container: str, wish: reading.Wish, trainer: str = TRAINER) -> None:
    asyncio.run(_show(found, container, wish, trainer))


async def _show(found: list[Kept], container: str, wish: reading.Wish, trainer: str) -> None:
    for one in found:
        note = one.note
        label = str(note.index) if note.step in ("", TRAINER) else f"{note.step} {note.index}"
        for name in _containers(one, container, trainer):
            for run in one.attempts(name):
                await console.pieces(label, note.index, reading.present(one.run(name, run), wish))
    console.flush()


def _containers(one: Kept, wanted: str, trainer: str) -> list[str]:
    names = one.containers()
    if wanted:
        return [name for name in names if name == wanted]
    return [trainer] if trainer in names else names
