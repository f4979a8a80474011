"""A job's own volumes: names and paths that fit together, and leave those alone that the job needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from trainshed.backend.rendering import checks
from trainshed.backend.rendering.unacceptable import Unacceptable
from trainshed.backend.rendering.wanted import Volume

_NAMES: Final = frozenset({
    "train-script", "setup", "git-clone-script", "git-clone-volume", "git-credentials", "shared-env",
    "mpi-ssh-auth", "mpi-hostfile", "initializer",
})  # fmt: skip
_FOLDERS: Final = (
    "/workspace/scripts",
    "/workspace/git",
    "/shared",
    "/shared-env",
    "/git-credentials",
    "/git",
)
_FOLDERS_OF_THE_SYSTEM: Final = ("/etc", "/proc", "/sys", "/dev", "/bin", "/sbin", "/lib", "/lib64", "/usr")


def volumes(given: Sequence[Volume]) -> tuple[Volume, ...]:
    found: list[Volume] = []
    for index, volume in enumerate(given):
        checked = _checked(f"volumes[{index}]", volume)
        if any(checked.name == other.name for other in found):
            raise Unacceptable(f"volumes[{index}].name", f"{checked.name} is given twice")
        if any(checked.mount_path == other.mount_path for other in found):
            why = f"{checks.shown(checked.mount_path)} is taken by another volume"
            raise Unacceptable(f"volumes[{index}].mountPath", why)
        found.append(checked)
    return tuple(found)


def _checked(field: str, volume: Volume) -> Volume:
    if checks.label(f"{field}.name", volume.name) in _NAMES:
        raise Unacceptable(
            f"{field}.name", f"{volume.name} is a volume of the job's own", "choose another name"
        )
    if volume.claim:
        checks.subdomain(f"{field}.pvc", volume.claim)
    elif volume.read_only:
        raise Unacceptable(f"{field}.readOnly", "an empty folder that cannot be written is of no use")
    if volume.claim and volume.in_memory:
        raise Unacceptable(f"{field}.memory", "a claim is not kept in memory", "leave pvc or memory out")
    return replace(volume, mount_path=_path(f"{field}.mountPath", volume))


def _path(field: str, volume: Volume) -> str:
    path = checks.mount_path(field, volume.mount_path)
    for taken in _FOLDERS:
        if path == taken or path.startswith(f"{taken}/"):
            raise Unacceptable(field, f"{taken} is where the job's own files are", "choose another folder")
        if taken.startswith(f"{path}/") and volume.read_only:
            why = f"holds {taken}, so it cannot be read-only"
            raise Unacceptable(field, why, "choose another folder")
    if path in _FOLDERS_OF_THE_SYSTEM:
        raise Unacceptable(field, f"{path} is a folder the system needs", "choose another folder")
    return path
