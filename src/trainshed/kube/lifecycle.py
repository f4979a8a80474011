"""What happens to an object's metadata over its life: birth, change, leaving. Time and uid are given."""

from __future__ import annotations

from trainshed.kube.objects import JSON, Object, dig, metadata

_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
_NOT_SENT = frozenset((*_SERVER_OWNED, "resourceVersion"))
_OMITTED_WHEN_EMPTY = ("annotations", "finalizers", "generateName", "labels", "ownerReferences")


def begin(obj: Object, *, namespace: str, uid: str, now: str, generation: bool) -> None:
    """Metadata of a new object: what clients sent for server-owned fields is ignored."""
    meta = metadata(obj)
    for name in _NOT_SENT.intersection(meta):
        del meta[name]
    if namespace:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    _drop_empty(meta)
    meta["uid"] = uid
    meta["creationTimestamp"] = now
    if generation:
        meta["generation"] = 1


def carry_over(new: Object, old: Object) -> None:
    """An update keeps identity and age whatever the writer sent."""
    ours, theirs = metadata(new), metadata(old)
    for name in (*_SERVER_OWNED, "resourceVersion", "name", "namespace", "generateName"):
        if name in theirs:
            ours[name] = theirs[name]
        else:
            ours.pop(name, None)
    _drop_empty(ours)


def _drop_empty(meta: Object) -> None:
    """No labels at all and an empty map of them are the same to clients that compare before and after."""
    for name in _OMITTED_WHEN_EMPTY:
        if name in meta and meta[name] in (None, {}, [], ""):
            del meta[name]


def keep_only_status(new: Object, old: Object) -> Object:
    """A write to `/status`: all but status (and the writer's managedFields) comes from the stored object."""
    kept = {key: value for key, value in old.items() if key not in ("status", "metadata")}
    kept["metadata"] = dict(metadata(old))
    sent = metadata(new)
    for name in ("managedFields", "resourceVersion", "uid"):
        if name in sent:
            kept["metadata"][name] = sent[name]
    if new.get("status") is not None:
        kept["status"] = new["status"]
    return kept


def spec_changed(new: Object, old: Object) -> bool:
    """Whether anything outside metadata and status differs (what `generation` counts)."""
    return bool(_desired(new) != _desired(old))


def same(new: Object, old: Object) -> bool:
    """Whether a write would change nothing; managedFields and resourceVersion do not count."""
    return bool(_content(new) == _content(old))


def bump_generation(new: Object, old: Object) -> None:
    meta = metadata(new)
    meta["generation"] = int(metadata(old).get("generation") or 0) + 1


def is_leaving(obj: Object) -> bool:
    return bool(metadata(obj).get("deletionTimestamp"))


def finalizers(obj: Object) -> list[str]:
    found = metadata(obj).get("finalizers")
    return [str(item) for item in found] if isinstance(found, list) else []


def may_go(obj: Object) -> bool:
    """Whether a leaving object has nothing left to wait for."""
    if not is_leaving(obj) or finalizers(obj) or is_occupied(obj):
        return False
    return not metadata(obj).get("deletionGracePeriodSeconds")


def is_occupied(obj: Object) -> bool:
    """A namespace has a second list of finalizers, in its spec: it stays until it has been emptied."""
    named = (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Namespace")
    return named and bool(dig(obj, "spec", "finalizers"))


def leave(obj: Object, *, when: str, grace: int) -> None:
    """Mark an object as leaving; a second call may only shorten the grace."""
    meta = metadata(obj)
    if not meta.get("deletionTimestamp") and meta.get("generation"):
        meta["generation"] = int(meta["generation"]) + 1
    meta["deletionTimestamp"] = when
    meta["deletionGracePeriodSeconds"] = grace


def _desired(obj: Object) -> JSON:
    return {
        key: value for key, value in obj.items() if key not in ("metadata", "status", "apiVersion", "kind")
    }


def _content(obj: Object) -> JSON:
    outer = {key: value for key, value in obj.items() if key != "metadata"}
    inner = metadata(obj)
    return outer, {
        key: value for key, value in inner.items() if key not in ("managedFields", "resourceVersion")
    }
