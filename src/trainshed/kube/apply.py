"""Field ownership: what every write does to `metadata.managedFields`, and server-side apply.

A plain write owns what it changed (`track_update`). An apply owns what it says, conflicts with owners of the
same field at another value, and takes back what it said before and says no more (`apply`).
"""

from __future__ import annotations

from typing import Final

from trainshed.kube import faults, fields, managed, typed
from trainshed.kube.changes import Changes, compare, everything, owned
from trainshed.kube.fields import FieldSet, difference, intersection, union
from trainshed.kube.last_applied import KUBECTL, allowed_conflicts, refresh
from trainshed.kube.managed import Entry
from trainshed.kube.merging import merged, removed, reshaped, with_parents
from trainshed.kube.nesting import bounded
from trainshed.kube.objects import Object, copied, without
from trainshed.kube.patches import same
from trainshed.kube.schema import Schema
from trainshed.kube.shapes import STRIPPED

BEFORE_FIRST_APPLY: Final = "before-first-apply"
"""Who owns the fields of an object nobody kept owners for, from its first apply on."""


class Untypable(faults.BadRequest):
    """The applied object does not fit its schema.

    Upstream answers 500 without a reason. The words and the missing reason are kept, so kubectl prints the
    same line; the code is not, since the fault is the client's and clients repeat what ended in a 500.
    """

    reason = ""


# --- plain writes -----------------------------------------------------------------------------------------


@bounded
def track_update(
    before: Object | None,
    after: Object,
    schema: Schema,
    *,
    manager: str,
    api_version: str,
    now: str,
    subresource: str = "",
) -> None:
    """Set the owners of `after`, which somebody is about to write over `before` (None: a new object).

    The writer owns what it added or changed, nobody owns what it removed. When it changed nothing, nothing
    changes here either, times included. An object without owners gets none until its first apply.
    """
    if before is None and managed.listed_in(after) is None:
        # The common birth, without the bookkeeping of what was there before.
        born = Entry(manager or "unknown", "Update", api_version, everything(after, schema), now, subresource)
        managed.write_only(after, born)
        return
    base = _base(before, after, subresource)
    if before is not None and not base:
        managed.write(after, ())
        return
    changes = compare(before or {}, after, schema)
    written = changes.written
    if not written and not changes.removed:
        managed.write(after, base)
        return
    writer = Entry(manager or "unknown", "Update", api_version, {}, now, subresource)
    managed.write(after, managed.capped(_after_update(base, writer, changes, written, schema)))


def _base(before: Object | None, after: Object, subresource: str) -> list[Entry]:
    """The entries to start from: the writer's own list if it sent a sensible one, else the live object's."""
    sent, live = managed.listed_in(after), managed.listed_in(before)
    if sent is None or subresource or sent == live:
        return managed.entries_of(before)
    if managed.is_reset(sent):
        return []
    try:
        return managed.entries_sent(sent) or managed.entries_of(before)
    except ValueError:
        # Clients that do not understand the field must not delete it by accident.
        return managed.entries_of(before)


def _after_update(
    base: list[Entry], writer: Entry, changes: Changes, written: FieldSet, schema: Schema
) -> list[Entry]:
    result: list[Entry] = []
    mine: FieldSet = {}
    touched = union(written, changes.removed)
    for entry in base:
        left = difference(reshaped(entry.fields, schema, touched), changes.removed)
        if entry.identity != writer.identity:
            result.append(entry.owning(difference(left, written)))
        elif written:
            mine = left
        else:
            result.append(entry.owning(left))
    if written:
        result.append(writer.owning(union(mine, written)))
    return result


def keep_times(before: Object, after: Object) -> None:
    """Restore the owners' times when they are all that differs: such a write must not count as a change."""
    old, new = managed.listed_in(before), managed.listed_in(after)
    if old == new or not isinstance(old, list) or not isinstance(new, list):
        return
    is_same_owners = _timeless(old) == _timeless(new)
    if is_same_owners and same(_bare(before), _bare(after)):
        after["metadata"]["managedFields"] = copied(old)


def _timeless(entries: list[Object]) -> list[Object]:
    return [without(entry, ("time",)) for entry in entries]


def _bare(obj: Object) -> Object:
    """The object without its owners."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": without(metadata, ("managedFields",))}


# --- server-side apply ------------------------------------------------------------------------------------


@bounded
def apply(
    live: Object | None,
    body: Object,
    schema: Schema,
    *,
    manager: str,
    force: bool,
    api_version: str,
    now: str,
    subresource: str = "",
) -> Object:
    """The object that results from applying `body` to the live one (None: a new object), with its owners.

    The body holds what this endpoint writes: the caller takes the other half (status, or all but status) out.
    Raises Conflict with one cause per field, unless `force`; then the others lose those fields.
    """
    body = _checked(body, schema, api_version)
    if live is not None and live.get("kind") != body.get("kind"):
        raise faults.BadRequest(f"invalid object type: {_kind(body)}")
    applier = Entry(manager or "unknown", "Apply", api_version, owned(body, schema), now, subresource)
    attempt = _Attempt(live or {}, body, schema, applier, _owners(live, schema, api_version, now))
    conflicts = [] if force else attempt.conflicts()
    if conflicts and manager == KUBECTL and live is not None:
        allowed = allowed_conflicts(live, schema, api_version)
        conflicts = [(owner, path) for owner, path in conflicts if not fields.contains(allowed, path)]
    if conflicts:
        raise _conflict(conflicts)
    result = attempt.result()
    if manager == KUBECTL:
        refresh(result, body)
    return result


def _checked(body: Object, schema: Schema, api_version: str) -> Object:
    """The applied object, known to be one, without the nulls that tools print for what the server sets."""
    if not isinstance(body, dict):
        raise faults.BadRequest("error decoding patch: an applied object must be an object")
    if body.get("apiVersion") != api_version:
        raise faults.BadRequest(f"invalid object type: {_kind(body)}")
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        if metadata.get("managedFields") is not None:
            raise faults.BadRequest("metadata.managedFields must be nil")
        # `creationTimestamp: null` claims nothing and must not wipe the live value.
        nulls = [key for key, value in metadata.items() if value is None and key in STRIPPED]
        body = {**body, "metadata": without(metadata, nulls)}
    if errors := typed.misfits(body, schema):
        raise Untypable(f"failed to create typed patch object ({_address(body)}): {typed.joined(errors)}")
    return body


def _kind(body: Object) -> str:
    group, _, version = str(body.get("apiVersion") or "").rpartition("/")
    return f"{group}/{version}, Kind={body.get('kind') or ''}"


def _address(body: Object) -> str:
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_kind(body)}"


def _owners(live: Object | None, schema: Schema, api_version: str, now: str) -> list[Entry]:
    found = [entry.owning(reshaped(entry.fields, schema)) for entry in managed.entries_of(live)]
    if found or live is None:
        return found
    return [Entry(BEFORE_FIRST_APPLY, "Update", api_version, everything(live, schema), now)]


class _Attempt:
    """One apply: the object it would make, and whom that would take something from."""

    def __init__(
        self, live: Object, body: Object, schema: Schema, applier: Entry, owners: list[Entry]
    ) -> None:
        self._stored, self._live, self._schema, self._applier = live, _bare(live), schema, applier
        self._others = [entry for entry in owners if entry.identity != applier.identity]
        self._last = next((entry for entry in owners if entry.identity == applier.identity), None)
        self._object = self._pruned(merged(self._live, body, schema), body)
        self._changes = compare(self._live, self._object, schema)
        self._written = self._changes.written

    def conflicts(self) -> list[tuple[Entry, fields.Path]]:
        return [
            (entry, path)
            for entry in sorted(self._others, key=lambda entry: entry.label)
            for path in fields.paths(intersection(entry.fields, self._written))
        ]

    def result(self) -> Object:
        is_noop = same(self._live, self._object)
        result: Object = copied(self._stored if is_noop else self._object)
        lost = union(self._written, self._changes.removed)
        others = [entry.owning(difference(entry.fields, lost)) for entry in self._others]
        managed.write(result, [*others, self._mine(is_noop)])
        return result

    def _mine(self, is_noop: bool) -> Entry:
        """The applier's entry; the old one, time included, when the apply said nothing new."""
        last, now = self._last, self._applier
        if last is None or not is_noop or last.fields != now.fields or last.api_version != now.api_version:
            return now
        return last

    def _pruned(self, whole: Object, body: Object) -> Object:
        """The merged object without what this manager applied last time, omits now, and nobody else owns."""
        if self._last is None or not difference(self._last.fields, self._applier.fields):
            return whole
        schema = self._schema
        last = with_parents(self._last.fields, schema)
        claimed: FieldSet = {}
        for entry in (*self._others, self._applier):
            claimed = union(claimed, entry.fields)
        present = with_parents(owned(whole, schema), schema)
        kept = union(_present(removed(whole, last, schema), schema), with_parents(claimed, schema))
        # Only then may a field go that this manager owned: what nobody owned stays where its parent stays.
        left = _present(removed(whole, difference(present, kept), schema), schema)
        pruned = removed(whole, intersection(difference(present, left), last), schema)
        # An empty list in the body claims nothing, yet is said: without this the next apply would add it.
        return merged(pruned, body, schema)


def _present(obj: Object, schema: Schema) -> FieldSet:
    return with_parents(owned(obj, schema), schema)


def _conflict(conflicts: list[tuple[Entry, fields.Path]]) -> faults.Conflict:
    causes = [
        faults.Cause("FieldManagerConflict", f"conflict with {owner.shown}", fields.shown(path))
        for owner, path in conflicts
    ]
    if len(conflicts) == 1:
        only = causes[0]
        return faults.Conflict(f"Apply failed with 1 conflict: {only.message}: {only.field}", causes=causes)
    lines: list[str] = []
    for index, (owner, path) in enumerate(conflicts):
        if index == 0 or conflicts[index - 1][0] is not owner:
            lines.append(f"conflicts with {owner.shown}:")
        lines.append(f"- {fields.shown(path)}")
    text = "\n".join(lines)
    return faults.Conflict(f"Apply failed with {len(conflicts)} conflicts: {text}", causes=causes)
