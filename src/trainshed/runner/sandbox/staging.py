"""A place where another user finds what goes into its sandbox, whatever the folders above are closed to.

Bubblewrap runs as the container's user when we are root and the container is not to be; it can then bind only
what that user may reach. In our own mount namespace all of it is shown in one open folder.
"""

from __future__ import annotations

import os
from dataclasses import replace

from trainshed.runner.plan import Mount
from trainshed.runner.sandbox import syscalls
from trainshed.runner.sandbox.arguments import Room

_STAGE = "/tmp"
_MS_MOVE = 8192


def on_stage(room: Room, mounts: list[Mount], stage: Stage) -> tuple[Room, list[Mount]]:
    """The same with every source on the stage."""
    shown = replace(
        room,
        tree=stage.show(room.tree),
        tmp=stage.show(room.tmp) if room.tmp else "",
        shm=stage.show(room.shm) if room.shm else "",
        binds=tuple((stage.show(source), target) for source, target in room.binds),
        files=tuple((stage.show(source), target) for source, target in room.files),
        visible=tuple((stage.show(source), target) for source, target in room.visible),
    )
    moved = [replace(mount, source=stage.show(mount.source)) if mount.source else mount for mount in mounts]
    return shown, moved


class Stage:
    def __init__(self, folder: str) -> None:
        self._folder, self._count = folder, 0
        os.makedirs(folder, exist_ok=True)
        syscalls.mount("stage", folder, "tmpfs", 0, "mode=755")
        syscalls.mount("none", folder, None, syscalls.MS_PRIVATE)

    def show(self, source: str) -> str:
        """Where the source will be found."""
        self._count += 1
        place = f"{self._folder}/{self._count}"
        if os.path.isdir(source):
            os.mkdir(place)
        else:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600))
        syscalls.mount(source, place, None, syscalls.MS_BIND | syscalls.MS_REC)
        return f"{_STAGE}/{self._count}"

    def open(self) -> None:
        """For the calling process alone: the folder it takes the place of may be needed by others."""
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount(self._folder, _STAGE, None, _MS_MOVE)
