"""What the agent must not forget of a pod when it is killed: kept in the pod's own folder."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from trainshed.kube.objects import Object
from trainshed.runner.volumes import inmemory

log = logging.getLogger(__name__)

NAME = "state.json"


class PodState(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    namespace: str
    name: str
    address: str
    node: str = ""
    devices: dict[str, tuple[str, ...]] = {}
    """The GPUs of each container."""
    drained: bool = False
    """Its containers were ended because the machine's owner stopped us, not by themselves."""
    final: Object | None = None
    """How it ended, for as long as the server could not be told."""


_decoder = msgspec.json.Decoder(PodState)


def write(folder: Path, state: PodState) -> None:
    path = folder / NAME
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        fresh = folder / f".{NAME}"
        fresh.write_bytes(msgspec.json.encode(state))
        fresh.replace(path)
    else:  # nothing of it runs yet, and half a note is none
        path.write_bytes(msgspec.json.encode(state))


def read(folder: Path) -> PodState | None:
    try:
        return _decoder.decode((folder / NAME).read_bytes())
    except (OSError, ValueError):
        return None


def all_in(pods: Path) -> Iterator[tuple[str, PodState]]:
    """Every pod that left something, by its uid."""
    for uid in sorted(folders_in(pods)):
        state = read(pods / uid)
        if state is not None:
            yield uid, state


def folders_in(pods: Path) -> set[str]:
    """The uids of all pods that left a folder."""
    return {folder.name for folder in pods.iterdir() if folder.is_dir()} if pods.is_dir() else set()


def mark_drained(pods: Path) -> None:
    """Note for all pods that their containers did not end by themselves."""
    for uid, _ in all_in(pods):
        note(pods / uid, drained=True)


def note(folder: Path, **changes: object) -> None:
    """Change some of what is remembered; nothing where nothing is, or the disk is full."""
    state = read(folder)
    if state is None:
        return
    try:
        write(folder, msgspec.structs.replace(state, **changes))
    except OSError as why:
        log.warning("%s is not noted for pod %s: %s", ", ".join(changes), folder.name, why)


def remove(folder: Path) -> None:
    """With what the pod has in memory."""
    inmemory.remove(folder)
    shutil.rmtree(folder, ignore_errors=True)
