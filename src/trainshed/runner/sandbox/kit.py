"""What the holder knows of this machine when it makes a sandbox."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field, replace

from trainshed.runner.sandbox import base, layers, syscalls
from trainshed.runner.sandbox.base import Base
from trainshed.runner.sandbox.cgroups import Cgroups
from trainshed.runner.sandbox.layers import Layer
from trainshed.runner.sandbox.network import Addresses

TRUSTED, PLAIN = "", ",userxattr"
_CARELESS = ",volatile"
"""Nobody will see it again: without this, the end of each container would be a sync of the whole disk."""
SHM = "shm"
"""Where each pod, in its mount namespace, has its own shared memory; outside there is just the folder."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the agent decides; handed over as JSON."""

    folder: str
    bwrap: str
    slirp: str
    prefix: str
    """The first two numbers of the pods' addresses."""
    hidden: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """Folders that are to be writable, such as our home."""
    overlay: bool = True


@dataclass(slots=True)
class Kit:
    options: Options
    is_root: bool
    """Root of the machine, not just of a user namespace."""
    addresses: Addresses
    cgroups: Cgroups = field(default_factory=Cgroups)
    overlay: str | None = None
    """The options of an overlay; None where there are none."""
    _mounts: str = ""
    _base: Base = field(default_factory=Base)

    def path(self, *names: str) -> str:
        return os.path.join(self.options.folder, *names)

    def base(self) -> Base:
        """What of the host's tree containers see; found anew when the host mounts something."""
        with open("/proc/self/mountinfo") as file:
            found = file.read()
        if found != self._mounts:
            self._base, self._mounts = self._find(found), found
        return self._base

    def _find(self, mountinfo: str) -> Base:
        mounts = [one for one in base.parse_mounts(mountinfo) if not self._is_ours(one.point)]
        if self.is_root and self.overlay is not None:
            return base.whole(mounts, os.path.isdir)
        return base.in_parts(mounts, layers.listing, overlay=self.overlay is not None)

    def opened(self, tree: Base, paths: tuple[str, ...]) -> Base:
        """The tree with overlays of their own for folders that could not be written to otherwise."""
        if self.is_root or self.overlay is None:
            return tree
        found = (base.boundary(path, tree, _is_ours) for path in (*self.options.own, *paths))
        return replace(tree, overlays=(*tree.overlays, *dict.fromkeys(one for one in found if one)))

    def _is_ours(self, point: str) -> bool:
        return point.startswith(self.options.folder + "/")


def _is_ours(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode)


def probe_overlay(folder: str, is_root: bool) -> str | None:
    """The options with which overlays work here, tried for real; None when they do not."""
    kinds = (TRUSTED, PLAIN) if is_root else (PLAIN,)
    for options in (kind + more for kind in kinds for more in (_CARELESS, "")):
        layer = Layer(os.path.join(folder, f"probe{len(options)}"))
        try:
            layer.make()
            if not layer.mount(Base(("/usr",)), options=options):
                os.mkdir(f"{layer.tree}/usr/.trainshed-probe")
                return options
        except OSError:
            continue
        finally:
            _dismantle(layer)
    return None


def _dismantle(layer: Layer) -> None:
    with contextlib.suppress(OSError):
        syscalls.unmount(f"{layer.tree}/usr")
    layers.remove(layer.path)
