"""Everything that is measured: `make bench`."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping

from bench import backend, jobs, logs, sandbox, server, store

PARTS: Mapping[str, tuple[str, Callable[[], None]]] = {
    "store": ("the store, against raw SQLite", lambda: asyncio.run(store.main(3.0))),
    "server": ("the API server, against a bare one", server.main),
    "sandbox": ("a sandbox, against a bare process", lambda: asyncio.run(sandbox.main())),
    "logs": ("a log, against cat", logs.main),
    "jobs": ("whole jobs, against bare torchruns", jobs.main),
    "backend": ("the REST backend, against the raw API", backend.main),
}


def main() -> None:
    for number, name in enumerate(_asked()):
        title, measure = PARTS[name]
        print(f"{chr(10) if number else ''}# {title}\n")
        measure()


def _asked() -> list[str]:
    listed = "\n".join(f"  {name:<8} {title}" for name, (title, _) in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure speed and size, as ratios to a baseline in the same run. All takes minutes.",
        epilog=f"parts:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="what to measure; all of it when none is named"
    )
    asked: list[str] = parser.parse_args().parts
    if unknown := [name for name in asked if name not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    return asked or list(PARTS)


if __name__ == "__main__":
    main()
