"""What can be adjusted in the store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    window_events: int = 50_000
    """Changes kept so that a watch may resume; older ones are forgotten, in memory and on disk."""
    window_bytes: int = 32 << 20
    """Bytes of replaced and deleted values those changes may hold, whichever bound is met first."""
    quota_bytes: int = 0
    """Largest size of the database file; 0 leaves it to the disk."""
    batch_rows: int = 256
    """Most writes in one commit; SQLite takes some 3,600."""
    batch_bytes: int = 8 << 20
    """A commit takes no further write once it holds this many bytes."""
    compaction_step: int = 500
    """Revisions looked at in one compaction transaction: writers wait for one such step at most."""
    checkpoint_pages: int = 1000
    """About how many pages the write-ahead log holds before they are copied into the database."""
    close_within: float = 10.0
    """Seconds `close` waits for the last writes."""
