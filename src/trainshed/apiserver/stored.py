"""What `compose` may know about the store: why it cannot be used, also without opening it."""

from __future__ import annotations

from pathlib import Path

from trainshed.store.faults import StoreFault
from trainshed.store.sqlite import check_header

__all__ = ["StoreFault", "obstacle"]


def obstacle(folder: Path) -> StoreFault | None:
    """What keeps this version from using a data folder's store, by its first bytes; nothing is touched."""
    try:
        check_header(folder / "store")
    except StoreFault as fault:
        return fault
    return None
