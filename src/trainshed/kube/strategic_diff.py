"""Two-way strategic merge patches: what turns one object into another, in the words of `strategic.merge`."""

from __future__ import annotations

from typing import Final

from trainshed.kube.nesting import bounded
from trainshed.kube.objects import JSON, Object, copied, encode
from trainshed.kube.patches import same
from trainshed.kube.shapes import METADATA
from trainshed.kube.structure import Schema

PATCH: Final = "$patch"
RETAIN: Final = "$retainKeys"
ORDER: Final = "$setElementOrder"
DELETE: Final = "$deleteFromPrimitiveList"


@bounded
def diff(before: Object, after: Object, schema: Schema) -> Object:
    """The patch from one object to the other, empty when they are the same. Nulls in `after` get lost."""
    return _diff_objects(before, after, schema, retains=False)


def child(schema: Schema | None, key: str) -> Schema | None:
    """The schema of a field. Custom and template schemas often say of metadata only that it is an object."""
    if schema is None:
        return None
    found = schema.properties.get(key, schema.additional)
    if key == "metadata" and found is not None and found.type == "object" and not found.properties:
        return METADATA
    return found


def _diff_objects(before: Object, after: Object, schema: Schema | None, *, retains: bool) -> Object:
    patch: Object = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = copied(value)
        elif not same(before[key], value):
            _diff_field(patch, key, before[key], value, child(schema, key))
    if retains and patch and after:
        patch[RETAIN] = sorted(key for key, value in after.items() if value is not None)
    return patch


def _diff_field(patch: Object, key: str, before: JSON, after: JSON, schema: Schema | None) -> None:
    """Add to the patch what makes one field another value."""
    if isinstance(before, dict) and isinstance(after, dict) and not has(schema, "replace"):
        patch[key] = _diff_objects(before, after, schema, retains=has(schema, "retainKeys"))
    elif schema is None or not (
        isinstance(before, list) and isinstance(after, list) and has(schema, "merge")
    ):
        patch[key] = copied(after)
    elif schema.patch_key:
        _diff_elements(patch, key, before, after, schema)
    else:
        _diff_values(patch, key, before, after)


def has(schema: Schema | None, strategy: str) -> bool:
    return schema is not None and strategy in schema.patch_strategy


def _diff_values(patch: Object, key: str, before: list[JSON], after: list[JSON]) -> None:
    """A merging list of scalars: what comes, what goes, and in which order the rest ends up."""
    old, new = {encode(item) for item in before}, {encode(item) for item in after}
    if added := [item for item in after if encode(item) not in old]:
        patch[key] = added
    gone = {code: item for item in before if (code := encode(item)) not in new}
    if gone:
        patch[f"{DELETE}/{key}"] = list(gone.values())
    if before and after:
        patch[f"{ORDER}/{key}"] = list(after)


def _diff_elements(patch: Object, key: str, before: list[JSON], after: list[JSON], schema: Schema) -> None:
    """A merging list of objects, by merge key."""
    old, new = _by_key(before, schema.patch_key), _by_key(after, schema.patch_key)
    if old is None or new is None:
        # Elements that cannot be told apart cannot be merged either; the whole list goes over.
        patch[key] = [{PATCH: "replace"}, *copied(after)]
        return
    retains = "retainKeys" in schema.patch_strategy
    changed: list[JSON] = []
    for code, item in new.items():
        if code not in old:
            changed.append(copied(item))
        elif change := _diff_objects(old[code], item, schema.items, retains=retains):
            changed.append({**change, schema.patch_key: item[schema.patch_key]})
    changed += [
        {schema.patch_key: item[schema.patch_key], PATCH: "delete"}
        for code, item in old.items()
        if code not in new
    ]
    if changed:
        patch[key] = changed
    if before and after:
        patch[f"{ORDER}/{key}"] = [{schema.patch_key: item[schema.patch_key]} for item in after]


def _by_key(items: list[JSON], merge_key: str) -> dict[bytes, Object] | None:
    """The elements under their merge keys; None when some have none or the same."""
    if not all(isinstance(item, dict) and merge_key in item for item in items):
        return None
    keyed = {encode(item[merge_key]): item for item in items}
    return keyed if len(keyed) == len(items) else None
