"""Names: which ones Kubernetes accepts, in its own words, and how new ones are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class GVK(NamedTuple):
    """Group, version and kind: the type of an object."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GVR(NamedTuple):
    """Group, version and (plural) resource: the place of a collection."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


NameCheck = Callable[[str], str | None]
"""Why a name is not acceptable, or None."""
