"""How an object is born and changed, whoever asks: prepare, admit, validate, track ownership, store.

From reading the present state to handing the new one to the store there is no `await`, so what was checked is
what is replaced; the returned record is durable. HTTP verbs (`writing`, `patching`, `deleting`) and the
server's own housekeeping (`garbage`, `namespaces`, `install`) all come through here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from trainshed.apiserver import admission, rendering
from trainshed.apiserver.access.identity import Identity
from trainshed.apiserver.call import already_exists, conflict
from trainshed.apiserver.state import State
from trainshed.kinds.kind import Kind
from trainshed.kube import apply, faults, lifecycle, names, schema
from trainshed.kube.objects import JSON, Object, copied, encode, metadata, without
from trainshed.store.records import Draft, Event, EventType, Key, Record

GENERATED_NAME_TRIES = 8
MOST_BYTES = 3 << 20
"""Of one stored object, managedFields included; clusters take half of that."""

SYSTEM = Identity("system:apiserver", groups=("system:masters",))
"""Who the server's own housekeeping writes as."""


def _ignore(text: str) -> None:
    """Warnings of the server's own writes have no reader."""


class Writer(msgspec.Struct, frozen=True):
    """Who writes and how."""

    manager: str
    user: Identity
    dry_run: bool = False
    subresource: str = ""
    track: bool = True
    """Whether managedFields are kept for this write (apply brings its own)."""
    trusted: bool = False
    """Whether a new object is known to be valid: what we ship was checked beforehand."""
    warn: Callable[[str], None] = _ignore


# --- birth ------------------------------------------------------------------------------------------------


async def insert(state: State, kind: Kind, obj: Object, writer: Writer, namespace: str = "") -> Record:
    """Store a new object (pruned, schema defaults applied); raises what the client shall read."""
    return await begin_insert(state, kind, obj, writer, namespace)


def begin_insert(
    state: State, kind: Kind, obj: Object, writer: Writer, namespace: str = ""
) -> asyncio.Future[Record]:
    meta = metadata(obj)
    if kind.custom and "create" not in kind.verbs:
        raise faults.MethodNotAllowed("create not allowed while custom resource definition is terminating")
    _refuse_revision(kind, meta)
    now = state.timestamp()
    lifecycle.begin(
        obj, namespace=namespace, uid=state.new_uid(), now=now, generation=kind.rules.has_generation
    )
    if kind.has_status:
        obj.pop("status", None)
    name = _choose_name(state, kind, meta, namespace)
    fits = _require_types(kind, obj, None, writer)
    kind.rules.defaults(obj)
    _track(kind, obj, None, writer, now)
    kind.rules.on_create(obj)
    request = admission.Request(
        state, kind, "CREATE", obj, None, namespace, name, writer.user, writer.dry_run, writer.warn
    )
    admission.admit(request)
    if not writer.trusted:
        _validate(kind, obj, None, writer, fits=fits)
    admission.judge(request)
    key = Key(kind.stored_as, namespace, name)
    if state.store.head(key) is not None:
        raise already_exists(kind, name)
    return _put(state, kind, key, obj, None, writer)


def _refuse_revision(kind: Kind, meta: Object) -> None:
    if meta.get("resourceVersion"):
        raise faults.BadRequest("resourceVersion should not be set on objects to be created")


def _choose_name(state: State, kind: Kind, meta: Object, namespace: str) -> str:
    """The given name, or a free one made from generateName."""
    name, prefix = meta.get("name"), meta.get("generateName")
    if name or not isinstance(prefix, str) or not prefix:
        return name if isinstance(name, str) else ""
    for _ in range(GENERATED_NAME_TRIES):
        name = names.generate(prefix, state.random)
        if state.store.head(Key(kind.stored_as, namespace, name)) is None:
            break
    meta["name"] = name
    return str(name)


# --- change -----------------------------------------------------------------------------------------------


async def replace(state: State, kind: Kind, old: Record, new: Object, writer: Writer) -> Record:
    """Replace what `old` holds; an object that was only waiting for this goes away instead."""
    return await begin_replace(state, kind, old, new, writer)


def begin_replace(
    state: State, kind: Kind, old: Record, new: Object, writer: Writer, before: Object | None = None
) -> asyncio.Future[Record]:
    """`before` is `old` decoded, where the caller has it. A new status may have parts in common with it."""
    before = rendering.spoken(kind, old) if before is None else before
    check_preconditions(kind, new, old, before)
    new = _merged_with_stored(kind, new, before, writer)
    if not rendering.is_current(kind, old):
        before = copied(before)  # what both share counts as checked, but this was stored under another schema
    fits = _require_types(kind, new, before, writer)
    _default(kind, new, writer)
    _track(kind, new, before, writer, state.timestamp())
    if writer.subresource != "status":
        kind.rules.on_update(new, before)
    key = old.key
    operation = admission.Request(
        state, kind, "UPDATE", new, before, key.namespace, key.name, writer.user, writer.dry_run, writer.warn,
        writer.subresource,
    )  # fmt: skip
    admission.admit(operation)
    _validate(kind, new, before, writer, fits=fits)
    admission.judge(operation)
    if kind.rules.has_generation and lifecycle.spec_changed(new, before):
        lifecycle.bump_generation(new, before)
    apply.keep_times(before, new)
    if _writes_nothing(new, before):
        return done(old)
    if lifecycle.is_leaving(before) and lifecycle.may_go(new):
        return begin_removal(state, kind, old, new, writer.dry_run)
    return _put(state, kind, key, new, old, writer)


def check_preconditions(kind: Kind, new: Object, old: Record, before: Object) -> None:
    """Optimistic locking: a resourceVersion or uid in the body must be the stored one."""
    meta = metadata(new)
    revision, uid = meta.get("resourceVersion"), meta.get("uid")
    if revision and str(revision) != str(old.revision):
        raise conflict(kind, old.key.name)
    if uid and uid != old.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old.uid}"
        raise conflict(kind, old.key.name, why)


def _merged_with_stored(kind: Kind, new: Object, before: Object, writer: Writer) -> Object:
    if writer.subresource == "status":
        new = lifecycle.keep_only_status(new, before)
    elif kind.has_status:
        new = {key: value for key, value in new.items() if key != "status"}
        if "status" in before:
            new["status"] = copied(before["status"])
    lifecycle.carry_over(new, before)
    return new


def _default(kind: Kind, new: Object, writer: Writer) -> None:
    """Fill in what the kind's rules say; beside a new status, all else is as it was stored."""
    if not _is_status_alone(kind, writer):
        kind.rules.defaults(new)
    elif "status" in new and kind.rules.status_defaults is not None:
        kind.rules.status_defaults(new["status"])
    elif "status" in new:
        part: Object = {"metadata": {}, "status": new["status"]}
        kind.rules.defaults(part)
        new["status"] = part["status"]


def _is_status_alone(kind: Kind, writer: Writer) -> bool:
    """Whether only the status has to be looked at; rules of custom kinds may relate it to anything."""
    return writer.subresource == "status" and not kind.custom


def _writes_nothing(new: Object, before: Object) -> bool:
    """Nothing to store: same content, and the same owners of it."""
    if not lifecycle.same(new, before):
        return False
    return bool(metadata(new).get("managedFields") == metadata(before).get("managedFields"))


def _track(kind: Kind, new: Object, before: Object | None, writer: Writer, now: str) -> None:
    """Note what the writer owns: after defaults, as upstream, but before the server fills in anything."""
    if writer.track:
        apply.track_update(
            before,
            new,
            kind.schema(),
            manager=writer.manager,
            api_version=kind.api_version,
            now=now,
            subresource=writer.subresource,
        )


def _validate(kind: Kind, new: Object, before: Object | None, writer: Writer, *, fits: bool) -> None:
    """`fits`: all but the metadata was seen to have its shape, which defaults and admission do not spoil."""
    meta = metadata(new)
    owners = meta.pop("managedFields", None)  # written by ourselves just now: not worth checking again
    errors: list[faults.FieldError] = []
    if before is None or not _is_status_alone(kind, writer):
        errors += names.metadata_errors(meta, namespaced=kind.namespaced, check_name=kind.rules.check_name)
        errors += [] if before is None else _finalizer_errors(new, before)
    misshapen = _part_errors("metadata", kind, new, before) if fits else _misshapen(kind, new, before, writer)
    refuse_wrong_types(kind, misshapen)
    errors += misshapen
    if not misshapen or kind.custom:
        errors += _own_errors(kind, new, before, writer)
    if errors:
        raise faults.refuse(kind.kind, kind.group, str(meta.get("name") or ""), errors)
    if owners is not None:
        meta["managedFields"] = owners
    for text in kind.rules.warnings(new, before):
        writer.warn(text)


def _misshapen(kind: Kind, new: Object, before: Object | None, writer: Writer) -> list[faults.FieldError]:
    """What does not fit the schema, of the status alone where only that is written."""
    if before is not None and _is_status_alone(kind, writer):
        return _part_errors("status", kind, new, before)
    old = schema.MISSING if before is None else before
    return schema.validate(kind.schema(), new, old, unique_lists=kind.custom)


def _part_errors(part: str, kind: Kind, new: Object, before: Object | None) -> list[faults.FieldError]:
    """The same for one field of a built-in kind."""
    node = kind.schema().properties.get(part)
    if node is None or part not in new:
        return []
    old = schema.MISSING if before is None else before.get(part, schema.MISSING)
    return schema.validate(node, new[part], old, part, unique_lists=False)


def _own_errors(kind: Kind, new: Object, before: Object | None, writer: Writer) -> list[faults.FieldError]:
    if writer.subresource == "status" and before is not None:
        return kind.rules.validate_status(new, before)
    return kind.rules.validate(new, before)


def _require_types(kind: Kind, new: Object, before: Object | None, writer: Writer) -> bool:
    """Before defaults and admission look at it or write over it; metadata is looked at by `names`.

    The answer: whether the rest fits the schema altogether.
    """
    if kind.custom or writer.trusted:
        return False
    misshapen = _misshapen(kind, without(new, ["metadata"]), before, writer)
    refuse_wrong_types(kind, misshapen)
    return not misshapen


def refuse_wrong_types(kind: Kind, misshapen: list[faults.FieldError]) -> None:
    """Built-in kinds are decoded into types upstream: a wrong one is a 400, before any validation."""
    if kind.custom:
        return
    wrong = [error for error in misshapen if error.reason == "FieldValueTypeInvalid"]
    if wrong:
        typed = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise faults.BadRequest(f"{typed}: {'; '.join(str(error) for error in wrong)}")


def _finalizer_errors(new: Object, before: Object) -> list[faults.FieldError]:
    if not lifecycle.is_leaving(before):
        return []
    added = [item for item in lifecycle.finalizers(new) if item not in lifecycle.finalizers(before)]
    if not added:
        return []
    why = (
        "no new finalizers can be added if the object is being deleted, found new finalizers "
        + faults.shown(added)
    )
    return [faults.forbidden("metadata.finalizers", why)]


# --- storing ----------------------------------------------------------------------------------------------


def put_as_is(
    state: State, kind: Kind, old: Record, obj: Object, dry_run: bool = False
) -> asyncio.Future[Record]:
    """Store a change the server itself makes: no admission, no ownership."""
    return _put(state, kind, old.key, obj, old, Writer("trainshed", SYSTEM, dry_run=dry_run, track=False))


def _put(
    state: State, kind: Kind, key: Key, obj: Object, old: Record | None, writer: Writer
) -> asyncio.Future[Record]:
    stored = _stored_form(state, kind, obj, old)
    if writer.dry_run:
        rehearsed = _unsaved(key, stored, old)
        _refuse_growth(rehearsed.value, old, writer)
        return done(rehearsed)

    def make(revision: int) -> Draft:
        draft = _draft(stored, revision)
        _refuse_growth(draft.value, old, writer)
        state.count(key, stored)
        return draft

    home = state.registry.stored(kind.stored_as) or kind
    change: EventType = "MODIFIED" if old else "ADDED"
    return state.store.put(key, make, lambda record: state.announce(home, Event(change, record, old)))


def begin_removal(
    state: State, kind: Kind, old: Record, last: Object, dry_run: bool = False
) -> asyncio.Future[Record]:
    """Take an object away; `last` is its final state, delivered to watchers with the deletion's revision."""
    stored = _stored_form(state, kind, last, old)
    if dry_run:
        return done(_unsaved(old.key, stored, old))
    home = state.registry.stored(kind.stored_as) or kind

    def make(revision: int) -> Draft:
        state.count(old.key, None)
        return _draft(stored, revision)

    return state.store.delete(
        old.key,
        make,
        lambda record: state.announce(home, Event("DELETED", record, old)),
    )


def _stored_form(state: State, kind: Kind, obj: Object, old: Record | None) -> Object:
    """Whatever is stored from now on counts as of the shape its kind has now.

    The server's own changes start from what was stored before that, other versions have shapes of their own,
    and the kind may be one from before its definition changed.
    """
    home = state.registry.stored(kind.stored_as) or kind
    inward = obj if kind.dialect is None else kind.dialect.inward(obj)
    if home.custom and (home is not kind or (old is not None and old.revision < home.since)):
        rendering.reshape(home, inward)
    return rendering.ordered(home, inward)


def _draft(obj: Object, revision: int) -> Draft:
    meta = obj["metadata"]
    meta["resourceVersion"] = str(revision)
    return _described(obj)


def _described(obj: Object) -> Draft:
    meta = obj["metadata"]
    labels: JSON = meta.get("labels")
    return Draft(_fitted(encode(obj)), labels or None, _owner_uids(meta), meta["uid"])


def _fitted(value: bytes) -> bytes:
    """A copy without the slack the encoder left behind its text: a third of it again, kept for as long."""
    return bytes(memoryview(value))


def _refuse_growth(value: bytes, old: Record | None, writer: Writer) -> None:
    """Bodies are bounded, but patches add up. The server's own marks are no growth."""
    if (
        len(value) <= MOST_BYTES
        or writer.user is SYSTEM
        or (old is not None and len(value) <= len(old.value))
    ):
        return
    raise faults.TooLarge(
        f"Request entity too large: limit is {MOST_BYTES}, the object would have {len(value)}"
    )


def _owner_uids(meta: Object) -> tuple[str, ...]:
    found = meta.get("ownerReferences")
    return tuple(str(item.get("uid")) for item in found) if found else ()


def _unsaved(key: Key, obj: Object, old: Record | None) -> Record:
    """What a dry run answers: the record as it would be, with the revision of what is there now."""
    if old is None:
        obj["metadata"].pop("resourceVersion", None)
    draft = _described(obj)
    revision, created = (old.revision, old.created) if old else (0, 0)
    return Record(key, revision, created, draft.value, draft.labels, draft.owners, draft.uid)


def done(record: Record) -> asyncio.Future[Record]:
    future: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
    future.set_result(record)
    return future
