"""Keys: what a queue holds and a pass is about. One object of a kind, by place and name."""

from __future__ import annotations

from typing import NamedTuple

from trainshed.kube.objects import Object


class Key(NamedTuple):
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: Object) -> Key:
    """The key of an object as the server returned it; cluster-wide ones have an empty namespace."""
    meta = obj["metadata"]
    return Key(meta.get("namespace") or "", meta["name"])
