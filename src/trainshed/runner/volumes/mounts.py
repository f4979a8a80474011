"""Where a container sees the volumes of its pod; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainshed.kinds.reading import entries, is_true
from trainshed.kube.objects import Object, text
from trainshed.runner.plan import Mount
from trainshed.runner.volumes.wanted import is_shm


@dataclass(frozen=True, slots=True)
class Prepared:
    """A volume that is there: a path of the host, in place of which a sandbox has memory where it is such."""

    path: str
    read_only: bool = False
    memory: bool = False


SubPath = Callable[[str, str], str]
"""The host path of a subPath in a volume."""


def mounts(
    container: Object, volumes: Mapping[str, Prepared], expand: Callable[[str], str], within: SubPath
) -> tuple[Mount, ...]:
    """Outer folders before those inside them, as they have to be mounted."""
    found = [
        mount
        for wish in entries(container, "volumeMounts")
        if (mount := _mount(wish, volumes[text(wish, "name")], expand, within)) is not None
    ]
    return tuple(sorted(found, key=lambda one: len(PurePosixPath(one.target).parts)))


def _mount(wish: Object, volume: Prepared, expand: Callable[[str], str], within: SubPath) -> Mount | None:
    target = "/" + text(wish, "mountPath").strip("/")
    if volume.memory and is_shm(target):
        return None  # the pod's own shared memory, which has the size of the volume
    sub = text(wish, "subPath") or expand(text(wish, "subPathExpr"))
    source = within(volume.path, sub) if sub else volume.path
    read_only = volume.read_only or is_true(wish, "readOnly")
    return Mount(target, "ro-bind" if read_only else "bind", source)
