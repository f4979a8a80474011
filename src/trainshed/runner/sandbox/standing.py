"""The tree a supervisor has laid, kept between two containers.

To lay an overlay the kernel makes and removes a dozen folders and files, and a file system without a journal
is slow to give out again what was deleted within the last minutes. So the mounts of a tree that nothing was
written to stay, in no namespace at all, held by a descriptor, and are put up again for the next container.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trainshed.runner.sandbox import syscalls
from trainshed.runner.sandbox.base import Base
from trainshed.runner.sandbox.layers import Layer


@dataclass(frozen=True, slots=True)
class _Kept:
    layer: Layer
    wanted: Base
    laid: Base
    """What became of it, where a folder refused its overlay."""
    ground: tuple[int, ...]
    mounts: int


class Standing:
    def __init__(self) -> None:
        self._kept: _Kept | None = None

    @property
    def descriptors(self) -> list[int]:
        return [self._kept.mounts] if self._kept is not None else []

    def put_up(self, layer: Layer, wanted: Base, lay: Callable[[], Base]) -> Base:
        """The tree of the host in our mount namespace, as it is now: the one that was kept, or a new one."""
        if self._kept is not None and _fits(self._kept, layer, wanted):
            laid = self._raised(self._kept)
            if laid is not None:
                return laid
        self.forget()
        laid = lay()
        self._keep(layer, wanted, laid)
        return laid

    def forget(self) -> None:
        """Before the layer is another's: a second overlay on it would be laid beside this one."""
        if self._kept is not None:
            os.close(self._kept.mounts)
            self._kept = None

    def _raised(self, kept: _Kept) -> Base | None:
        try:
            syscalls.attach_mounts(kept.mounts, kept.layer.tree)
        except OSError:
            return None
        try:
            _renew(kept)
        except OSError:
            syscalls.unmount(kept.layer.tree)
            return None
        self._keep(kept.layer, kept.wanted, kept.laid)
        return kept.laid

    def _keep(self, layer: Layer, wanted: Base, laid: Base) -> None:
        self.forget()
        try:
            mounts = syscalls.copied_mounts(layer.tree)
        except OSError:  # an old kernel: each container has its tree laid anew
            return
        self._kept = _Kept(layer, wanted, laid, _ground(layer, wanted), mounts)


def _fits(kept: _Kept, layer: Layer, wanted: Base) -> bool:
    """Not where something was made for this container in a folder that is under an overlay already."""
    if (kept.layer, kept.wanted) != (layer, wanted) or not layer.has_empty_uppers(wanted):
        return False
    return kept.ground == _ground(layer, wanted)


def _ground(layer: Layer, tree: Base) -> tuple[int, ...]:
    """What the overlays lie on: another disk may be mounted there meanwhile, or its rights be changed.

    Of folders above a mount the kernel drops nothing: that mount holds them.
    """
    above = sorted({folder for point in (*tree.overlays, *tree.binds) for folder in _above(point)})
    uppers = (layer.upper(number) for number in range(len(tree.overlays)))
    return tuple(fact for folder in (*tree.overlays, *above, *uppers) for fact in _facts(folder))


def _above(path: str) -> Iterator[str]:
    while path != "/":
        path = os.path.dirname(path)
        yield path


def _facts(folder: str) -> tuple[int, ...]:
    try:
        found = os.stat(folder)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid


def _renew(kept: _Kept) -> None:
    """Have the kernel drop what it remembers of the tree: the host may have changed since."""
    for folder in kept.laid.overlays:
        if folder not in kept.laid.binds:
            syscalls.mount("none", kept.layer.tree + folder, None, syscalls.MS_REMOUNT)
