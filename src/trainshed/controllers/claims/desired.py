"""What a claim of storage looks like once it is bound. Pure."""

from __future__ import annotations

from trainshed.kinds.reading import mapping
from trainshed.kube.objects import Object, dig, text


def is_settled(claim: Object) -> bool:
    """Bound, with all the room it asks for; or on its way out."""
    if dig(claim, "metadata", "deletionTimestamp"):
        return True
    has = dig(claim, "status", "capacity", "storage")
    return text(claim, "status", "phase") == "Bound" and has == dig(_asked(claim), "storage")


def volume_name(claim: Object) -> str:
    """As provisioners name the volumes they make."""
    return f"pvc-{text(claim, 'metadata', 'uid')}"


def bound_status(claim: Object) -> Object:
    spec = mapping(claim, "spec")
    return {
        "phase": "Bound",
        "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
        "capacity": {"storage": dig(_asked(claim), "storage")},
    }


def _asked(claim: Object) -> Object:
    return mapping(claim, "spec", "resources", "requests")
