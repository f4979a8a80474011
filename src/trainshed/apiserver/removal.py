"""How an object leaves, whoever asks: at once, when its finalizers are done, or when its node agrees."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from trainshed.apiserver import rendering, writes
from trainshed.apiserver.state import State
from trainshed.kinds.kind import Kind
from trainshed.kube import ages, faults, lifecycle
from trainshed.kube.objects import JSON, Object, dig, metadata
from trainshed.store.records import Record

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
ON_DELETE = {"customresourcedefinitions.apiextensions.k8s.io": "customresourcecleanup.apiextensions.k8s.io"}
"""Kinds that cannot just go: the finalizer a deletion puts on them, for housekeeping to take off again."""
PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")
AT_ONCE = 100
"""Removals begun without a pause: enough to share a commit, few enough to let others have their turn."""
_POLICIES = ("Foreground", "Background", "Orphan")
_FINALIZER_OF = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}


@dataclass(frozen=True, slots=True)
class Options:
    """DeleteOptions, checked."""

    policy: str = ""
    grace: int | None = None
    uid: str = ""
    revision: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Removed:
    record: Record
    gone: bool
    """Whether the object is away already; otherwise it is leaving."""


def options(body: Object) -> Options:
    """Read a DeleteOptions object; wrong values are refused, not ignored."""
    errors = []
    policy, orphan = body.get("propagationPolicy"), body.get("orphanDependents")
    if policy and policy not in _POLICIES:
        errors.append(faults.unsupported("propagationPolicy", policy, [*_POLICIES, "nil"]))
    if policy and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(faults.invalid("propagationPolicy", policy, why))
    dry = body.get("dryRun") or []
    if not isinstance(dry, list) or any(value != "All" for value in dry):
        errors.append(faults.unsupported("dryRun", dry, ["All"]))
    grace = body.get("gracePeriodSeconds")
    if grace is not None and (not isinstance(grace, int) or isinstance(grace, bool)):
        errors.append(faults.invalid("gracePeriodSeconds", grace, "must be an integer"))
    if not isinstance(orphan, bool | None):
        errors.append(faults.invalid("orphanDependents", orphan, "must be a boolean"))
    errors += _precondition_errors(body.get("preconditions"))
    if errors:
        raise faults.refuse("DeleteOptions", "meta.k8s.io", "", errors)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    return Options(policy or "", _grace(grace), *_preconditions(body), dry_run=bool(dry))


def _precondition_errors(given: JSON) -> list[faults.FieldError]:
    if not isinstance(given, dict | None):
        return [faults.invalid("preconditions", given, "must be an object")]
    return [
        faults.invalid(f"preconditions.{name}", value, "must be a string")
        for name, value in (given or {}).items()
        if name in ("uid", "resourceVersion") and not isinstance(value, str | None)
    ]


def _preconditions(body: Object) -> tuple[str, str]:
    return str(dig(body, "preconditions", "uid") or ""), str(
        dig(body, "preconditions", "resourceVersion") or ""
    )


def _grace(value: JSON) -> int | None:
    """Upstream reads a negative grace as one second."""
    return None if value is None else int(value) if value >= 0 else 1


async def remove(state: State, kind: Kind, old: Record, wish: Options) -> Removed:
    """Remove, or mark as leaving; the returned record is durable."""
    future, gone = begin_remove(state, kind, old, wish)
    return Removed(await future, gone)


async def remove_all(state: State, kind: Kind, records: Sequence[Record], wish: Options) -> list[Record]:
    """Remove what is still there of these records, many in one commit; later objects of their names stay."""
    removed: list[Record] = []
    for start in range(0, len(records), AT_ONCE):
        heads = [(record.uid, state.store.head(record.key)) for record in records[start : start + AT_ONCE]]
        present = [newest for uid, newest in heads if newest is not None and newest.uid == uid]
        removed += await asyncio.gather(*(begin_remove(state, kind, newest, wish)[0] for newest in present))
    return removed


def begin_remove(state: State, kind: Kind, old: Record, wish: Options) -> tuple[asyncio.Future[Record], bool]:
    _refuse_protected(kind, old)
    _check_preconditions(kind, old, wish)
    obj = rendering.spoken(kind, old)
    before = (
        lifecycle.is_leaving(obj),
        metadata(obj).get("deletionGracePeriodSeconds"),
        lifecycle.finalizers(obj),
    )
    _set_policy_finalizer(kind, obj, wish)
    grace = _grace_of(kind, obj, wish)
    if lifecycle.is_occupied(obj):
        grace = 0
        obj.setdefault("status", {})["phase"] = "Terminating"
    elif not lifecycle.finalizers(obj) and not grace:
        return writes.begin_removal(state, kind, old, obj, wish.dry_run), True
    lifecycle.leave(obj, when=_when(state, obj, grace), grace=grace)
    after = True, grace, lifecycle.finalizers(obj)
    if before == after:
        return writes.done(old), False
    return writes.put_as_is(state, kind, old, obj, wish.dry_run), False


def _check_preconditions(kind: Kind, old: Record, wish: Options) -> None:
    for what, wanted, found in (
        ("UID", wish.uid, old.uid),
        ("ResourceVersion", wish.revision, str(old.revision)),
    ):
        if wanted and wanted != found:
            why = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found})"
            raise _precondition_failed(kind, old, f"{why}. The object might have been {_FATES[what]}")


_FATES = {"UID": "deleted and then recreated", "ResourceVersion": "modified"}


def _precondition_failed(kind: Kind, old: Record, why: str) -> faults.Conflict:
    message = f'Operation cannot be fulfilled on {kind.kind} "{old.key.name}": {why}'
    return faults.Conflict(message, name=old.key.name, group=kind.group, kind=kind.kind)


def _refuse_protected(kind: Kind, old: Record) -> None:
    if kind.resource == "namespaces" and old.key.name in PROTECTED_NAMESPACES:
        message = f'namespaces "{old.key.name}" is forbidden: this namespace may not be deleted'
        raise faults.Forbidden(message, name=old.key.name, kind="namespaces")


def _set_policy_finalizer(kind: Kind, obj: Object, wish: Options) -> None:
    """The chosen policy becomes a finalizer; an explicit one replaces an earlier choice."""
    policy = wish.policy
    if not policy:
        if {FOREGROUND, ORPHAN} & set(lifecycle.finalizers(obj)):
            return
        policy = "Orphan" if kind.resource == "jobs.batch" else "Background"
    kept = [item for item in lifecycle.finalizers(obj) if item not in (FOREGROUND, ORPHAN)]
    chosen = _FINALIZER_OF[policy]
    kept += [chosen] if chosen else []
    cleanup = ON_DELETE.get(kind.resource)
    _set_finalizers(obj, [*kept, cleanup] if cleanup and cleanup not in kept else kept)


def _set_finalizers(obj: Object, names: list[str]) -> None:
    if names:
        metadata(obj)["finalizers"] = names
    else:
        metadata(obj).pop("finalizers", None)


def _grace_of(kind: Kind, obj: Object, wish: Options) -> int:
    """Only pods that may be running get time; everything else goes when its finalizers do."""
    if kind.resource != "pods":
        return 0
    if not dig(obj, "spec", "nodeName") or dig(obj, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    current = metadata(obj).get("deletionGracePeriodSeconds")
    default = dig(obj, "spec", "terminationGracePeriodSeconds")
    grace = wish.grace if wish.grace is not None else 30 if default is None else int(default)
    return grace if current is None else min(int(current), grace)


def _when(state: State, obj: Object, grace: int) -> str:
    present = metadata(obj)
    if present.get("deletionTimestamp") and present.get("deletionGracePeriodSeconds") == grace:
        return str(present["deletionTimestamp"])
    return ages.timestamp(state.now() + timedelta(seconds=grace))


async def drop_finalizer(state: State, kind: Kind, old: Record, name: str) -> Record | None:
    """Take one finalizer off; the object goes if it was the last thing it waited for."""
    obj = rendering.spoken(kind, old)
    kept = [item for item in lifecycle.finalizers(obj) if item != name]
    _set_finalizers(obj, kept)
    if lifecycle.may_go(obj):
        return await writes.begin_removal(state, kind, old, obj)
    return await writes.put_as_is(state, kind, old, obj)
