"""Strategic merge patches: merge patches that know from the schema which lists merge, and by which key.

Directives a patch may carry, none of which ends up in the result:

    $patch: replace | delete | merge      in an object or in an element of a merging list
    $retainKeys: [names]                  drop every other field of this object
    $setElementOrder/<list>: [...]        the order the list shall have
    $deleteFromPrimitiveList/<list>: [...]

Results never share parts with the inputs, but for those of `merge_owned`. The other direction, `diff`, is in
`strategic_diff`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainshed.kube import faults
from trainshed.kube.nesting import bounded
from trainshed.kube.objects import JSON, Object, copied, encode
from trainshed.kube.patches import REFUSED
from trainshed.kube.strategic_diff import DELETE, ORDER, PATCH, RETAIN, child, diff, has
from trainshed.kube.structure import Schema

__all__ = ["diff", "merge", "merge_owned"]


@bounded
def merge(target: Object, patch: Object, schema: Schema) -> Object:
    """The target changed by a strategic merge patch; BadRequest or Invalid for one that makes no sense."""
    if not isinstance(patch, dict):
        raise faults.BadRequest("invalid JSON document")
    return _merge_objects(copied(target), patch, schema)


@bounded
def merge_owned(target: Object, patch: Object, schema: Schema) -> Object:
    """As `merge`, of a target that is the caller's to give away: its parts may go into the result."""
    return _merge_objects(target, patch, schema)


# --- objects ----------------------------------------------------------------------------------------------


def _merge_objects(target: Object, patch: Object, schema: Schema | None) -> Object:
    """A new object; the target is ours already, so its parts may go into it."""
    match patch.get(PATCH, "merge"):
        case "replace":
            return _fresh_object(patch)
        case "delete":
            return {}
        case "merge":
            pass
        case other:
            raise faults.BadRequest(f"unknown patch type: {other} in map: {_text(patch)}")
    orders, deletions = _lists_named(patch, ORDER), _lists_named(patch, DELETE)
    result = _retained(target, patch)
    for key in orders:
        _merge_ordered(result, key, patch, orders[key], child(schema, key))
    for key, value in patch.items():
        if not _is_directive(key) and key not in orders:
            _merge_field(result, key, value, child(schema, key))
    for key, gone in deletions.items():
        if isinstance(found := result.get(key), list):
            dropped = {encode(value) for value in gone}
            result[key] = [value for value in found if encode(value) not in dropped]
    return result


def _lists_named(patch: Object, directive: str) -> Mapping[str, list[JSON]]:
    """The lists given beside their fields, as `<directive>/<field>`."""
    found: dict[str, list[JSON]] = {}
    for key, value in patch.items():
        if key.startswith(directive):
            name, slash, field = key.partition("/")
            if name != directive or not slash or not isinstance(value, list):
                raise faults.BadRequest(f"invalid patch format of {_LIST_NAMES[directive]}")
            found[field] = value
    return found


_LIST_NAMES: Final = {ORDER: "setElementOrder list", DELETE: "primitive list"}


def _retained(target: Object, patch: Object) -> Object:
    """The target with only the fields `$retainKeys` names, where it is given."""
    if RETAIN not in patch:
        return dict(target)
    names = patch[RETAIN]
    if not isinstance(names, list):
        raise faults.BadRequest("invalid patch format of retainKeys")
    for key, value in patch.items():
        if not _is_directive(key) and value is not None and key not in names:
            raise faults.BadRequest("invalid patch format of retainKeys")
    return {key: value for key, value in target.items() if key in names}


def _merge_field(result: Object, key: str, value: JSON, schema: Schema | None) -> None:
    """Set one field of the result, which is ours, to the live value merged with the patch's."""
    if value is None:
        result.pop(key, None)
        return
    live = result.get(key)
    if isinstance(live, dict) and isinstance(value, dict) and not has(schema, "replace"):
        result[key] = _merge_objects(live, value, schema)
    elif isinstance(live, list) and isinstance(value, list) and has(schema, "merge"):
        result[key] = _merge_lists(live, value, schema)
    elif isinstance(value, dict) and value.get(PATCH) == "delete":
        result.pop(key, None)
    else:
        result[key] = _fresh(value)


# --- lists ------------------------------------------------------------------------------------------------


def _merge_ordered(result: Object, key: str, patch: Object, order: list[JSON], schema: Schema | None) -> None:
    """Merge one list that comes with `$setElementOrder`."""
    live, sent = result.get(key), patch.get(key)
    for found in (live, sent):
        if found is not None and not isinstance(found, list):
            raise faults.BadRequest(f"expected a list, but received {_text(found)} for {key}")
    merge_key = schema.patch_key if schema is not None else ""
    _check_order(sent or [], order, merge_key)
    if key in patch:
        _merge_field(result, key, sent, schema)
    if isinstance(merged := result.get(key), list):
        result[key] = arranged(merged, order, live or [], merge_key)


def _check_order(sent: list[JSON], order: list[JSON], merge_key: str) -> None:
    """What a patch sends must stand in its own `$setElementOrder`, in that order."""
    if not sent or not order:
        return
    wanted = iter([marked_key(item, merge_key) for item in order])
    for item in sent:
        is_directive = isinstance(item, dict) and PATCH in item
        if not is_directive and marked_key(item, merge_key) not in wanted:
            raise faults.BadRequest(
                f"The order in patch list:\n{_text(sent)}\n doesn't match {ORDER} list:\n{_text(order)}\n"
            )


def _merge_lists(live: list[JSON], sent: list[JSON], schema: Schema | None) -> list[JSON]:
    kind = _kind_of(live, sent)
    if kind is None:
        return []
    if kind is not dict:
        known = {encode(item): item for item in (*live, *sent)}
        return arranged(list(known.values()), sent, live, "")
    merge_key = schema.patch_key if schema is not None else ""
    if not merge_key:
        raise faults.BadRequest("cannot merge lists without merge key")
    if any(item.get(PATCH) == "replace" for item in sent):
        return [_fresh_object(item) for item in sent if PATCH not in item]
    kept = _without_deleted(live, sent, merge_key)
    changed = [item for item in sent if item.get(PATCH) != "delete" and list(item) != [PATCH]]
    merged = _merge_elements(kept, changed, merge_key, schema.items if schema is not None else None)
    return arranged(merged, changed, kept, merge_key)


def _kind_of(*lists: list[JSON]) -> type | None:
    """The one type of all elements, None without elements."""
    kinds = {type(item) for items in lists for item in items}
    if list in kinds:
        raise faults.Invalid(REFUSED) from ValueError("lists of lists are not supported")
    if len(kinds) > 1:
        raise faults.BadRequest(f"list element types are not identical: {_text(list(lists))}")
    return next(iter(kinds), None)


def _without_deleted(live: list[Object], sent: list[Object], merge_key: str) -> list[Object]:
    gone: set[bytes] = set()
    for item in sent:
        match item.get(PATCH, "merge"):
            case "delete":
                gone.add(_key(item, merge_key))
            case "merge" | "replace":
                pass
            case other:
                raise faults.BadRequest(f"unknown patch type: {other} in map: {_text(item)}")
    return [item for item in live if marked_key(item, merge_key) not in gone]


def _merge_elements(
    live: list[Object], sent: list[Object], merge_key: str, schema: Schema | None
) -> list[JSON]:
    result: list[JSON] = list(live)
    places = dict(_places(live, merge_key))
    for item in sent:
        key = _key(item, merge_key)
        if key in places:
            result[places[key]] = _merge_objects(result[places[key]], item, schema)
        else:
            places[key] = len(result)
            result.append(_fresh_object(item))
    return result


def arranged(items: list[JSON], sent: list[JSON], live: list[JSON], merge_key: str) -> list[JSON]:
    """The items of a merged list in order: those sent as sent, the others as they were live.

    An item that was not sent comes before a sent one only if both were there before, in that order.
    """
    wanted, known = _places(sent, merge_key), _places(live, merge_key)
    keyed = [(marked_key(item, merge_key), item) for item in items]
    first = sorted((pair for pair in keyed if pair[0] in wanted), key=lambda pair: wanted[pair[0]])
    last = len(known)
    others = sorted(
        (pair for pair in keyed if pair[0] not in wanted), key=lambda pair: known.get(pair[0], last)
    )
    result: list[JSON] = []
    for key, item in first:
        while others and others[0][0] in known and known[others[0][0]] < known.get(key, -1):
            result.append(others.pop(0)[1])
        result.append(item)
    return result + [item for _, item in others]


def _places(items: list[JSON], merge_key: str) -> Mapping[bytes, int]:
    """Where each item stands; of duplicates the first counts."""
    return {marked_key(item, merge_key): index for index, item in reversed(list(enumerate(items)))}


def marked_key(item: JSON, merge_key: str) -> bytes:
    """What tells an element of a merging list from the others; `1`, `1.0` and `true` are different."""
    return encode(item.get(merge_key) if merge_key and isinstance(item, dict) else item)


def _key(item: Object, merge_key: str) -> bytes:
    if merge_key not in item:
        raise faults.BadRequest(f"map: {_text(item)} does not contain declared merge key: {merge_key}")
    return marked_key(item, merge_key)


# --- new values -------------------------------------------------------------------------------------------


def _fresh(value: JSON) -> JSON:
    """A value nothing live stands against: without directives and nulls."""
    if isinstance(value, dict):
        return _fresh_object(value)
    if not isinstance(value, list):
        return value
    return [_fresh(item) for item in value if not (isinstance(item, dict) and _is_marker(item))]


def _is_marker(item: Object) -> bool:
    """Whether a list element only says what happens to the list or to another element."""
    return item.get(PATCH) in ("delete", "replace") or list(item) == [PATCH]


def _fresh_object(value: Object) -> Object:
    return {
        key: _fresh(item)
        for key, item in value.items()
        if item is not None
        and not _is_directive(key)
        and not (isinstance(item, dict) and item.get(PATCH) == "delete")
    }


def _is_directive(key: str) -> bool:
    return key in (PATCH, RETAIN) or key.startswith((ORDER + "/", DELETE + "/"))


def _text(value: JSON) -> str:
    return encode(value).decode()
