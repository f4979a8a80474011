"""Printers of volumes, claims and storage classes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from trainshed.kinds.printing.printer import (
    AGE,
    NAME,
    UNSET,
    Printer,
    age,
    column,
    flag,
    name_of,
    texts,
    wide,
)
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import JSON, Object, dig, text

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _volume(obj: Object, now: datetime) -> Sequence[JSON]:
    claim = mapping(obj, "spec", "claimRef")
    return (
        name_of(obj),
        str(dig(obj, "spec", "capacity", "storage") or "0"),
        _modes(texts(obj, "spec", "accessModes")),
        text(obj, "spec", "persistentVolumeReclaimPolicy"),
        _phase(obj),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else "",
        _class(obj),
        text(obj, "spec", "volumeAttributesClassName") or UNSET,
        text(obj, "status", "reason"),
        age(obj, now),
        text(obj, "spec", "volumeMode") or UNSET,
    )


def _claim(obj: Object, now: datetime) -> Sequence[JSON]:
    volume = text(obj, "spec", "volumeName")
    return (
        name_of(obj),
        _phase(obj),
        volume,
        str(dig(obj, "status", "capacity", "storage") or "0") if volume else "",
        _modes(texts(obj, "status", "accessModes")) if volume else "",
        _class(obj),
        text(obj, "spec", "volumeAttributesClassName") or UNSET,
        age(obj, now),
        text(obj, "spec", "volumeMode") or UNSET,
    )


def _storage_class(obj: Object, now: datetime) -> Sequence[JSON]:
    annotations = mapping(obj, "metadata", "annotations")
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return (
        name_of(obj) + (" (default)" if is_default else ""),
        text(obj, "provisioner"),
        text(obj, "reclaimPolicy") or "Delete",
        text(obj, "volumeBindingMode") or "Immediate",
        flag(obj, "allowVolumeExpansion"),
        age(obj, now),
    )


def _modes(found: list[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _phase(obj: Object) -> str:
    return "Terminating" if dig(obj, "metadata", "deletionTimestamp") else text(obj, "status", "phase")


def _class(obj: Object) -> str:
    return text(obj, "metadata", "annotations", _OLD_CLASS) or text(obj, "spec", "storageClassName")


_ATTRIBUTES = column("VolumeAttributesClass", "Class of changeable attributes.")
_CLASS = column("StorageClass", "Class of storage.")
_CAPACITY = column("Capacity", "Size of the volume.")
_ACCESS = column("Access Modes", "How the volume may be mounted.")
_MODE = wide("VolumeMode", "Filesystem or Block.")
PRINTERS = {
    "persistentvolumes": Printer(
        (
            NAME,
            _CAPACITY,
            _ACCESS,
            column("Reclaim Policy", "What happens to it when its claim is gone."),
            column("Status", "Phase of the volume."),
            column("Claim", "Claim the volume is bound to."),
            _CLASS,
            _ATTRIBUTES,
            column("Reason", "Why it is in this phase."),
            AGE,
            _MODE,
        ),
        _volume,
    ),
    "persistentvolumeclaims": Printer(
        (
            NAME,
            column("Status", "Phase of the claim."),
            column("Volume", "Volume the claim is bound to."),
            _CAPACITY,
            _ACCESS,
            _CLASS,
            _ATTRIBUTES,
            AGE,
            _MODE,
        ),
        _claim,
    ),
    "storageclasses.storage.k8s.io": Printer(
        (
            NAME,
            column("Provisioner", "What makes the volumes."),
            column("ReclaimPolicy", "What happens to volumes whose claim is gone."),
            column("VolumeBindingMode", "When volumes are made and bound."),
            column("AllowVolumeExpansion", "Whether volumes may grow."),
            AGE,
        ),
        _storage_class,
    ),
}
