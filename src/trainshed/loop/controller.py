"""What a controller is: a name, the kinds it watches, and one function for one key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from trainshed.kube.names import split_api_version
from trainshed.kube.objects import Object
from trainshed.kube.owners import controller_of
from trainshed.loop.keys import Key, key_of
from trainshed.loop.outcome import Outcome
from trainshed.loop.world import World

Keys = Callable[[Object], Iterable[Key]]
"""The keys a change of an object concerns."""


def own_key(obj: Object) -> Iterable[Key]:
    return (key_of(obj),)


def no_keys(obj: Object) -> Iterable[Key]:
    """For kinds that are only looked up."""
    return ()


@dataclass(frozen=True, slots=True)
class Watch:
    """A kind, by the words kubectl takes, and whom its changes concern."""

    kind: str
    keys: Keys = own_key
    index_labels: tuple[str, ...] = ()
    """Labels `Cache.labelled` can be asked for."""


@dataclass(frozen=True, slots=True)
class Controller:
    name: str
    """Also the source of its events and the manager of the fields it writes."""
    watches: tuple[Watch, ...]
    """The first one is the kind its keys are of."""
    reconcile: Callable[[Key, World], Awaitable[Outcome]]
    workers: int = 8
    optional: bool = False
    """Whether a server without one of the kinds is fine: then the controller is not started."""


def owner_keys(kind: str, group: str) -> Keys:
    """The key of the object of this kind that controls a child: `owner_keys("Job", "batch")`."""

    def keys(obj: Object) -> Iterable[Key]:
        owner = controller_of(obj)
        if owner is None or owner.get("kind") != kind:
            return ()
        if split_api_version(owner.get("apiVersion") or "")[0] != group:
            return ()
        return (Key(obj["metadata"].get("namespace") or "", owner.get("name") or ""),)

    return keys
