"""The volumes of a pod as this machine understands them; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from trainshed.kinds.core.resources import parsed
from trainshed.kinds.core.volumes import SOURCES
from trainshed.kinds.reading import entries, is_true, mapping, number
from trainshed.kube.objects import Object, dig, text

_DEFAULT_MODE: Final = 0o644


class Refused(Exception):
    """A volume this machine cannot offer; the message says why and what else to use."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """An empty folder that lives as long as the pod."""

    name: str


@dataclass(frozen=True, slots=True)
class Memory:
    name: str
    size: int
    """In bytes; 0 for as much as the machine allows."""


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    path: str
    type: str


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    claim: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Files:
    """Files made from objects and from the pod itself; `sources` are those of a projected volume."""

    name: str
    sources: tuple[Object, ...]
    mode: int
    is_private: bool = True
    """Not to be written to a disk; only of the contents of ConfigMaps nobody minds."""


Volume = Scratch | Memory | Host | Claim | Files

_FILES: Final = ("configMap", "secret", "downwardAPI")


def volumes(pod: Object) -> list[Volume]:
    """All volumes of a pod; raises `Refused` for the first one that cannot be had."""
    return [_volume(volume) for volume in entries(pod, "spec", "volumes")]


def _volume(volume: Object) -> Volume:
    name = text(volume, "name")
    kind = next((one for one in SOURCES if isinstance(volume.get(one), dict)), "emptyDir")
    read = _READERS.get(kind)
    if read is None:
        raise Refused(
            f'volume "{name}" is of kind {kind}, which this machine cannot mount: '
            "use hostPath, persistentVolumeClaim or emptyDir"
        )
    return read(name, mapping(volume, kind))


def _empty(name: str, source: Object) -> Volume:
    if text(source, "medium") == "Memory":
        return Memory(name, int(parsed(source.get("sizeLimit")) or 0))
    return Scratch(name)


def _projected(name: str, source: Object) -> Volume:
    parts = tuple(entries(source, "sources"))
    for part in parts:
        if isinstance(part.get("clusterTrustBundle"), dict):
            raise Refused(f'volume "{name}" projects a clusterTrustBundle, of which there are none here')
    return Files(name, parts, _mode(source))


def _file_reader(kind: str) -> Callable[[str, Object], Volume]:
    is_private = kind != "configMap"
    return lambda name, source: Files(name, (_as_projected(kind, source),), _mode(source), is_private)


def _as_projected(kind: str, source: Object) -> Object:
    """The source of a single-object volume in the form a projected one has."""
    named = (
        {**source, "name": source["secretName"]} if kind == "secret" and "secretName" in source else source
    )
    return {kind: named}


def _mode(source: Object) -> int:
    found = number(source, "defaultMode")
    return _DEFAULT_MODE if found is None else found


_READERS: Final[dict[str, Callable[[str, Object], Volume]]] = {
    "emptyDir": _empty,
    "ephemeral": lambda name, source: Scratch(name),
    "hostPath": lambda name, source: Host(name, text(source, "path"), text(source, "type")),
    "persistentVolumeClaim": lambda name, source: Claim(
        name, text(source, "claimName"), is_true(source, "readOnly")
    ),
    "projected": _projected,
    **{kind: _file_reader(kind) for kind in _FILES},
}


def references(volume: Volume) -> Iterator[tuple[str, str]]:
    """Kind and name of the objects a volume is made from."""
    if isinstance(volume, Claim):
        yield "persistentvolumeclaims", volume.claim
    if isinstance(volume, Files):
        for source in volume.sources:
            for member, kind in (("configMap", "configmaps"), ("secret", "secrets")):
                if name := text(source, member, "name"):
                    yield kind, name


def shm_bytes(pod: Object, found: list[Volume], default: int) -> int:
    """The size of /dev/shm: that of a memory volume some container mounts there, else the usual."""
    sizes = {volume.name: volume.size for volume in found if isinstance(volume, Memory)}
    for group in ("containers", "initContainers"):
        for container in entries(pod, "spec", group):
            for mount in entries(container, "volumeMounts"):
                if is_shm(dig(mount, "mountPath")) and text(mount, "name") in sizes:
                    return sizes[text(mount, "name")]
    return default


def is_shm(path: object) -> bool:
    return isinstance(path, str) and path.rstrip("/") == "/dev/shm"
