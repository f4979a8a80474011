"""How a pass over one key ends: done, done for now, or failed in one of two ways."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class After:
    """Come back after this long, or earlier if something changes."""

    seconds: float


Outcome = Done | After


class Permanent(Exception):
    """Trying again would end the same way: wait until something changes. Say why in one line."""


class Temporary(Exception):
    """Try again, after so many seconds or, by default, with the back-off of the key."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
