"""How objects that are older than the shape of their kind read in it: worked out once, then remembered."""

from __future__ import annotations

from typing import Final

MOST_BYTES: Final = 32 << 20
_ENTRY_BYTES: Final = 150
"""What remembering one costs beside its bytes."""


class Readings:
    """By revision: an object that is written again is not the one that was remembered."""

    __slots__ = ("_bytes", "_most", "_shown")

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._bytes = 0
        self._shown: dict[int, bytes] = {}

    def find(self, revision: int, stored: bytes) -> bytes | None:
        """What was noted; nothing to read differently is kept as no bytes at all."""
        found = self._shown.get(revision)
        return stored if found == b"" else found

    def note(self, revision: int, stored: bytes, shown: bytes) -> None:
        kept = b"" if shown == stored else bytes(memoryview(shown))  # without the slack the encoder left
        self._bytes += _ENTRY_BYTES + len(kept)
        if self._bytes > self._most:
            self._shown.clear()
            self._bytes = _ENTRY_BYTES + len(kept)
        self._shown[revision] = kept

    def forget(self, revision: int) -> None:
        found = self._shown.pop(revision, None)
        if found is not None:
            self._bytes -= _ENTRY_BYTES + len(found)

    def __len__(self) -> int:
        return len(self._shown)
