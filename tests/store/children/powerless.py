"""Opens a folder that it cannot write; prints the fault. Usage: powerless.py FOLDER [BYTES]

With BYTES no file may grow beyond them; without, the program may read the folder but not write it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from pathlib import Path

from trainshed.store.faults import StoreFault
from trainshed.store.store import Store

NOBODY = 65534


async def main(folder: Path, size: str = "") -> None:
    if size:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    elif os.getuid() == 0:
        os.setuid(NOBODY)  # modes do not bind the superuser
    try:
        store = Store.open(folder)
    except StoreFault as fault:
        print(type(fault).__name__, fault.message)
    else:
        await store.close()
        print("opened")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
