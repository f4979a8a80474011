"""Holds a data folder until its input ends. Usage: holder.py FOLDER; prints its pid when it holds it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from trainshed.store.store import Store


async def main(folder: Path) -> None:
    store = Store.open(folder)
    print(os.getpid(), flush=True)
    sys.stdin.read()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
