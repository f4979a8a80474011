"""Opens watches and never reads them; says `ready` once they are open, and ends with its input.

Usage: sleepers.py KUBECONFIG COUNT PATH
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.server.watches import Unread
from trainshed.client import kubeconfig


def main(config: str, count: int, path: str) -> None:
    opened = [Unread(kubeconfig.load(Path(config)), path) for _ in range(count)]
    print("ready", len(opened), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
