"""What a claim of storage looks like once it is bound. Pure."""

from __future__ import annotations

from trainshed.kinds.reading import mapping
from trainshed.kube.objects import Object, dig, text


def needs_binding(claim: Object) -> bool:
    return text(claim, "status", "phase") != "Bound" and not dig(claim, "metadata", "deletionTimestamp")


def volume_name(claim: Object) -> str:
    """As provisioners name the volumes they make."""
    return f"pvc-{text(claim, 'metadata', 'uid')}"


def bound_status(claim: Object) -> Object:
    spec = mapping(claim, "spec")
    return {
        "phase": "Bound",
        "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
        "capacity": {"storage": dig(spec, "resources", "requests", "storage") or "0"},
    }
