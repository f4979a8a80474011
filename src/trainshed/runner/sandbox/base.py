"""What of the host's tree a container gets to see, and how; pure.

An overlay (the host's folder below, a private layer above) needs a folder without mounts inside it, as those
cannot be seen through it: whoever is root lays one over `/` and one over each file system below; for an
ordinary user, folders are taken apart until no mount is left inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Listing = Callable[[str], Sequence["Entry"]]

OWN = ("/proc", "/sys", "/dev", "/run", "/tmp")
"""Every container has its own of these."""

_SEEN = ("9p", "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "tmpfs", "vfat", "virtiofs", "xfs", "zfs")
_SEEN_FAMILIES = ("fuse", "nfs", "cifs", "smb", "ceph", "lustre", "gpfs", "beegfs")
_SKIPPED = ("/boot", "/lost+found")
_MOST_PARTS = 64


class HostMount(NamedTuple):
    point: str
    kind: str


class Entry(NamedTuple):
    name: str
    kind: Literal["folder", "link", "file", "closed"]
    """`closed`: a folder this user may not look into."""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Base:
    overlays: tuple[str, ...] = ()
    """Folders with a private layer on top, outer ones first."""
    binds: tuple[str, ...] = ()
    """Shown as they are, read-only."""
    links: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = field(default=OWN)
    """Made anew, empty."""


def parse_mounts(mountinfo: str) -> list[HostMount]:
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4]
        found.append(HostMount(_plain(point), right.split(" ")[0]))
    return found


def _plain(path: str) -> str:
    """Without the octal escapes of the kernel."""
    if "\\" not in path:
        return path
    return path.encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")


def whole(mounts: Iterable[HostMount], is_folder: Callable[[str], bool]) -> Base:
    """For those who may lay an overlay over `/`."""
    points = _real(mounts)
    return Base(("/", *filter(is_folder, points)), tuple(one for one in points if not is_folder(one)), (), ())


def _real(mounts: Iterable[HostMount]) -> list[str]:
    """Where something worth seeing is mounted below `/`."""
    points = {
        mount.point
        for mount in mounts
        if _is_seen(mount.kind) and mount.point != "/" and not _is_below(mount.point, (*OWN, *_SKIPPED))
    }
    return sorted(points)[:_MOST_PARTS]


def _is_seen(kind: str) -> bool:
    """Whether a file system holds data; the kernel's own, and other programs' sandboxes, are none of ours."""
    return kind in _SEEN or kind.startswith(_SEEN_FAMILIES)


def in_parts(mounts: Iterable[HostMount], listing: Listing, *, overlay: bool) -> Base:
    """For those who may not: folder by folder, with overlays or (where the kernel has none) without."""
    parts = _Parts([mount.point for mount in mounts if mount.point != "/"], listing, overlay)
    parts.split("/")
    return Base(tuple(parts.overlays), tuple(parts.binds), tuple(parts.links), tuple(parts.folders))


class _Parts:
    def __init__(self, points: list[str], listing: Listing, overlay: bool) -> None:
        self._points, self._listing, self._overlay = points, listing, overlay
        self.overlays: list[str] = []
        self.binds: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.folders: list[str] = list(OWN)

    def split(self, folder: str) -> None:
        for entry in self._listing(folder):
            path = f"{folder.rstrip('/')}/{entry.name}"
            if path not in OWN and path not in _SKIPPED:
                self._place(path, entry)

    def _place(self, path: str, entry: Entry) -> None:
        if entry.kind == "link":
            self.links.append((path, entry.target))
        elif entry.kind == "closed":
            self.folders.append(path)
        elif entry.kind == "file" or not self._overlay:
            self.binds.append(path)
        elif not self._has_mounts(path):
            self.overlays.append(path)
        elif len(self._listing(path)) + len(self.overlays) > _MOST_PARTS:
            self.binds.append(path)
        else:
            self.folders.append(path)
            self.split(path)

    def _has_mounts(self, path: str) -> bool:
        return any(_is_below(point, (path,)) for point in self._points if point != path)


def boundary(path: str, base: Base, is_ours: Callable[[str], bool]) -> str | None:
    """The outermost folder of ours around a path, where it needs an overlay of its own to be written to.

    Before a file is changed in an overlay, all folders above are copied; of those that belong to others an
    ordinary user cannot make a copy.
    """
    outer = ""
    for name in path.strip("/").split("/"):
        parent, outer = outer or "/", f"{outer}/{name}"
        if is_ours(outer):
            is_needed = parent not in base.overlays and any(_is_below(outer, (one,)) for one in base.overlays)
            return outer if is_needed and outer not in base.overlays else None
    return None


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def pierced(base: Base, targets: Iterable[str], listing: Listing) -> Base:
    """The same without overlays: whatever is to be mounted where the host has nothing gets a place.

    A read-only folder cannot be given a new entry, so it is made anew, with all its entries shown in it.
    """
    binds, links, folders = list(base.binds), list(base.links), list(base.folders)
    for target in targets:
        while above := next((one for one in binds if _is_below(target, (one,)) and one != target), None):
            if _exists(above, target, listing):
                break
            binds.remove(above)
            folders.append(above)
            for entry in listing(above):
                path = f"{above}/{entry.name}"
                if entry.kind == "link":
                    links.append((path, entry.target))
                elif entry.kind != "closed":
                    binds.append(path)
    return Base(base.overlays, tuple(binds), tuple(links), tuple(folders))


def _exists(above: str, target: str, listing: Listing) -> bool:
    """Whether the host has the target, looking down from a folder it is in."""
    here = above
    for name in target[len(above) + 1 :].split("/"):
        if name not in {entry.name for entry in listing(here)}:
            return False
        here = f"{here}/{name}"
    return True
