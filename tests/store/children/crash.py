"""Writes through the store from many tasks until it is killed; prints each write once it was acknowledged.

Usage: crash.py FOLDER SEED. Lines are `put NAME REVISION VALUE` and `delete NAME REVISION -`.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

from trainshed.store.records import Draft, Key
from trainshed.store.settings import Settings
from trainshed.store.store import Make, Store

WRITERS = 16


def stamped(text: str) -> Make:
    return lambda revision: Draft(f"{revision}:{text}".encode())


async def write(store: Store, writer: int, choice: random.Random) -> None:
    """Each task owns its keys, so its last acknowledged line about a key is the least that must be there."""
    while True:
        key = Key("things", f"space-{writer % 3}", f"thing-{writer}-{choice.randrange(8)}")
        if store.head(key) is not None and choice.random() < 0.3:
            record, verb, shown = await store.delete(key, lambda revision: Draft(b"gone")), "delete", "-"
        else:
            text = f"{choice.randrange(10**9)}:" + "x" * choice.randrange(5000)
            record = await store.put(key, stamped(text))
            verb, shown = "put", text.partition(":")[0]
        os.write(1, f"{verb} {key.namespace}/{key.name} {record.revision} {shown}\n".encode())


async def main(folder: Path, seed: int) -> None:
    store = Store.open(folder, Settings(window_events=300, compaction_step=50, checkpoint_pages=100))
    os.write(1, b"ready\n")
    await asyncio.gather(
        *(write(store, writer, random.Random(f"{seed}-{writer}")) for writer in range(WRITERS))
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
