"""Owner references: who made an object, who may delete it with itself."""

from __future__ import annotations

from trainshed.kube.objects import JSON, Object, dig


def references(obj: Object) -> list[Object]:
    """The object's owner references; broken entries are left out."""
    found: JSON = dig(obj, "metadata", "ownerReferences")
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def controller_of(obj: Object) -> Object | None:
    """The reference to the one owner that manages the object, or None."""
    return next((entry for entry in references(obj) if entry.get("controller") is True), None)


def is_owned_by(obj: Object, owner: Object) -> bool:
    """Whether the owner is among the object's owners. Names are reused, so only the uid counts."""
    uid = dig(owner, "metadata", "uid")
    return bool(uid) and any(entry.get("uid") == uid for entry in references(obj))


def is_controlled_by(obj: Object, owner: Object) -> bool:
    controller, uid = controller_of(obj), dig(owner, "metadata", "uid")
    return controller is not None and bool(uid) and controller.get("uid") == uid


def reference_to(owner: Object, *, controller: bool = True, block_deletion: bool = True) -> Object:
    """A reference to an owner read from the server (it must carry its type and uid)."""
    reference: Object = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    if controller:
        reference["controller"] = True
    if block_deletion:
        reference["blockOwnerDeletion"] = True
    return reference


def adopted(obj: Object, reference: Object) -> list[Object]:
    """The owner references with one more; an older entry for the same uid is replaced."""
    return [entry for entry in references(obj) if entry.get("uid") != reference["uid"]] + [reference]


def released(obj: Object, uid: str) -> list[Object]:
    """The owner references without those to a uid."""
    return [entry for entry in references(obj) if entry.get("uid") != uid]
