"""Lines of chosen runs as they are, without following: for answers and downloads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from trainshed.backend.joblines.attic import KeptRun
from trainshed.backend.joblines.runs import LAUNCHER, TRAINER, Choice, Live, Run
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.kube import ages, faults
from trainshed.runner.logs import lines as stamps
from trainshed.runner.logs import reading


class Found(NamedTuple):
    """A run and where its lines are: with a pod that is there, in files, or both."""

    run: Run
    live: Live | None
    file: Path | None


@dataclass(frozen=True, slots=True)
class Wish:
    tail: int | None = None
    since: datetime | None = None
    timestamps: bool = False


# --- choosing -----------------------------------------------------------------------------------------------


def joined(living: Iterable[Live], kept: Iterable[KeptRun]) -> list[Found]:
    """Each run once, attempt by attempt."""
    files = {one.run.key: one for one in kept}
    found = [
        Found(live.run, live, files[live.run.key].file if live.run.key in files else None) for live in living
    ]
    there = {one.run.key for one in found}
    found += [Found(one.run, None, one.file) for one in files.values() if one.run.key not in there]
    return sorted(found, key=_place)


def of_one_worker(found: Sequence[Found]) -> list[Found]:
    """Without initializers, where there are workers; and without their helpers' containers.

    What the program of a launched job writes is what its launcher writes, who counts as the first worker.
    """
    workers = [one for one in found if one.run.role in (LAUNCHER, TRAINER)] or [*found]
    return [one for one in workers if one.run.container == TRAINER] or workers


def newest(found: Sequence[Found], *, previous: bool = False, failed: bool = False) -> list[Found]:
    """Of each container the last run, or the one before it; those of all attempts count as one row.

    Of one that failed both: the last one may have been ended before it came to the same error.
    """
    rows: dict[tuple[str, int, str], list[Found]] = {}
    for one in found:
        rows.setdefault((one.run.role, one.run.worker, one.run.container), []).append(one)
    if failed and not previous:
        return [one for row in rows.values() for one in row[-2:]]
    wanted = 2 if previous else 1
    return [row[-wanted] for row in rows.values() if len(row) >= wanted]


def chosen(
    found: Sequence[Found], choice: Choice, *, previous: bool = False, failed: bool = False
) -> list[Found]:
    """What an answer shows when nobody asks for a certain attempt: the last one."""
    taken = [one for one in found if choice.takes(one.run)]
    if choice.attempt is not None and not previous:
        return taken
    return newest(taken, previous=previous, failed=failed)


def _place(found: Found) -> tuple[int, str, int, bool, str, bool, float, bool, int]:
    """Of one container those of pods that are gone come first; times of creation are whole seconds only."""
    run, live = found.run, found.live
    whose = (run.attempt, run.role, run.worker, run.container == TRAINER, run.container)
    return *whose, live is not None, run.began, live is not None and not live.is_over, run.number


# --- reading ------------------------------------------------------------------------------------------------


async def pieces(client: Client, namespace: str, found: Found, wish: Wish) -> AsyncGenerator[bytes, None]:
    """What there is now; nothing of a container that has not begun or of which nothing is left."""
    begun = False
    if found.live is not None:
        try:
            async for piece in client.logs(found.run.pod, namespace, _options(found.live, wish)):
                begun = True
                yield piece
            return
        except (faults.NotFound, faults.BadRequest):
            if begun:
                raise
    if found.file is not None:
        async for piece in _kept(found.file, wish):
            yield piece


def _options(live: Live, wish: Wish) -> LogOptions:
    return LogOptions(
        container=live.run.container,
        previous=live.is_previous,
        timestamps=wish.timestamps,
        tail_lines=wish.tail,
        since_time=ages.timestamp(wish.since) if wish.since else "",
    )


def _kept(file: Path, wish: Wish) -> AsyncIterator[bytes]:
    since = stamps.stamp(wish.since) if wish.since else b""
    return reading.present(file, reading.Wish(timestamps=wish.timestamps, since=since, tail=wish.tail))


async def ending(source: AsyncGenerator[bytes, None], most: int) -> tuple[bytes, bool]:
    """The end of what comes, and whether that is not all; begins with a whole line."""
    held, is_cut = bytearray(), False
    async for piece in source:
        held += piece
        if len(held) > 2 * most:
            del held[:-most]
            is_cut = True
    if len(held) > most:
        del held[:-most]
        is_cut = True
    if is_cut and b"\n" in held:
        del held[: held.index(b"\n") + 1]
    return bytes(held), is_cut
