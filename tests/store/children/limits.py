"""A store whose files may not grow for a while: the kernel refuses, as it does on a full disk.

Usage: limits.py FOLDER. Prints one JSON line: what a writer saw, and what a restart reads.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path

from trainshed.store.faults import StoreFault
from trainshed.store.records import Draft, Key
from trainshed.store.store import Store


def limit_files_to(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


def largest_file(folder: Path) -> int:
    return max(path.stat().st_size for path in folder.iterdir())


async def attempt(store: Store, name: str) -> str:
    try:
        await store.put(Key("things", "", name), lambda revision: Draft(b"x" * 10_000))
    except StoreFault as fault:
        return type(fault).__name__
    return "durable"


async def main(folder: Path) -> None:
    store = Store.open(folder)
    seen: dict[str, object] = {"before": await attempt(store, "before")}
    limit_files_to(largest_file(folder) + 20_000)
    seen["during"] = await asyncio.gather(*(attempt(store, f"during-{number}") for number in range(50)))
    seen["readable"] = store.get(Key("things", "", "before")) is not None
    limit_files_to(resource.RLIM_INFINITY)
    seen["after"] = await attempt(store, "after")
    seen["listed"] = [record.key.name for record in store.list("things")]
    await store.close()
    again = Store.open(folder)
    seen["reopened"] = [record.key.name for record in again.list("things")]
    await again.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
