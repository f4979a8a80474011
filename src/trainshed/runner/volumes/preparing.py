"""Makes the volumes of a pod on the host, and takes note of what they became."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainshed.kinds.reading import number
from trainshed.kube.objects import Object, text
from trainshed.runner.environment import Sources, namespace_of
from trainshed.runner.volumes import hostpaths, inmemory, payloads, writing
from trainshed.runner.volumes.mounts import Prepared
from trainshed.runner.volumes.payloads import Tokens
from trainshed.runner.volumes.wanted import Claim, Files, Host, Memory, Scratch, Volume


class NotReady(Exception):
    """A volume that cannot be mounted now; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """The folders volumes are made in."""

    pod: Path
    """The pod's own; goes with it."""
    claims: Callable[[Object], Path]
    """The folder of a claim; stays until that is deleted."""


def prepare(
    pod: Object, volumes: Sequence[Volume], grounds: Grounds, sources: Sources, tokens: Tokens, dated: str
) -> dict[str, Prepared]:
    """All volumes of a pod, by name; raises `NotReady` for the first that cannot be had."""
    found = {}
    for volume in volumes:
        try:
            found[volume.name] = _prepare(pod, volume, grounds, sources, tokens, dated)
        except (payloads.Incomplete, hostpaths.WrongPath) as why:
            raise NotReady(f'MountVolume.SetUp failed for volume "{volume.name}" : {why}') from why
        except (OSError, ValueError) as why:
            words = why.strerror if isinstance(why, OSError) else why
            raise NotReady(f'MountVolume.SetUp failed for volume "{volume.name}" : {words}') from why
    return found


def refresh(
    pod: Object, volumes: Sequence[Volume], grounds: Grounds, sources: Sources, tokens: Tokens, dated: str
) -> list[str]:
    """Bring files up to date that are made from objects; what went missing keeps its last content.

    So does what cannot be written: why, is returned.
    """
    troubles = []
    for volume in volumes:
        if isinstance(volume, Files):
            try:
                _prepare(pod, volume, grounds, sources, tokens, dated)
            except payloads.Incomplete:
                continue
            except (OSError, ValueError) as why:
                troubles.append(f'volume "{volume.name}": {why}')
    return troubles


def _prepare(
    pod: Object, volume: Volume, grounds: Grounds, sources: Sources, tokens: Tokens, dated: str
) -> Prepared:
    folder = grounds.pod / "volumes" / volume.name
    match volume:
        case Scratch():
            return Prepared(str(_open_folder(folder)))
        case Memory():
            return Prepared(str(_open_folder(inmemory.folder(grounds.pod) / volume.name)), memory=True)
        case Host():
            return Prepared(hostpaths.ready(volume))
        case Claim():
            return _claim(pod, volume, grounds, sources)
        case Files():
            group = number(pod, "spec", "securityContext", "fsGroup")
            payload = payloads.for_group(payloads.payload(pod, volume, sources, tokens), group)
            if volume.is_private:
                folder = inmemory.folder(grounds.pod) / volume.name
            writing.write(folder, payload, dated, group)
            return Prepared(str(folder), read_only=True)


def _open_folder(folder: Path) -> Path:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)  # the pod's sandbox is made at the same time
        folder.chmod(0o777)
    return folder


def _claim(pod: Object, volume: Claim, grounds: Grounds, sources: Sources) -> Prepared:
    claim = sources.objects.get(("persistentvolumeclaims", volume.claim))
    if claim is None:
        raise payloads.Incomplete(
            f'persistentvolumeclaim "{volume.claim}" not found; create it in namespace {namespace_of(pod)}'
        )
    if text(claim, "spec", "volumeMode") == "Block":
        raise payloads.Incomplete(
            f'persistentvolumeclaim "{volume.claim}" has volumeMode Block; use Filesystem'
        )
    return Prepared(str(grounds.claims(claim)), read_only=volume.read_only)
