"""What a part's process is told by whoever starts it: its one argument, as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import msgspec

from trainshed.compose.datafolder import DataFolder
from trainshed.kube.objects import Object
from trainshed.runner.settings import Settings


@dataclass(frozen=True, slots=True)
class Order:
    root: str
    cache: str
    report: int | None = None
    """The descriptor to say on that it is ready, or why it is not."""
    turn: int | None = None
    """The descriptor of the turn it holds together with its starter, to be closed when it is ready."""
    host: str = ""
    port: int = 0
    settings: Settings = field(default_factory=Settings)
    drain: bool = False
    """Only end what a former life left behind."""
    listener: int | None = None
    """The descriptor of a socket that was opened for it, and keeps listening when it starts over."""
    url: str = ""
    """Where that socket is reached."""
    backend: Object = field(default_factory=dict)
    """The table [backend] of the settings."""

    @property
    def folder(self) -> DataFolder:
        return DataFolder(Path(self.root), Path(self.cache))

    def written(self) -> str:
        return msgspec.json.encode(asdict(self)).decode()

    def for_others(self) -> Order:
        """Without what only the backend is to know and hold."""
        return replace(self, listener=None, url="", backend={})

    def for_another_life(self) -> Order:
        """The same for a process that starts over, when nobody waits for its report any more."""
        return replace(self, report=None, turn=None)


def read(text: str) -> Order:
    return msgspec.json.decode(text, type=Order)
