"""The versions of a definition: names, schemas, subresources, printer columns, selectable fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainshed.kinds.checks import Errors
from trainshed.kinds.reading import entries, mapping
from trainshed.kube import jsonpath, names
from trainshed.kube.faults import duplicate, invalid, required, too_many
from trainshed.kube.objects import JSON, Object, dig, text

SchemaCheck = Callable[[str, JSON, bool], Errors]
"""From a path, a schema and whether the status subresource is on to what is wrong with the schema."""

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_SELECTABLE = 8


def errors(spec: Object, before: Object | None, check_schema: SchemaCheck) -> Errors:
    versions = entries(spec, "versions")
    return [
        *_schemas_missing(versions),
        *_version_names(versions),
        *_each(versions, "schema", lambda path, version: _schema(path, version, before, check_schema)),
        *_each(versions, "subresources", _scale),
        *_each(versions, "additionalPrinterColumns", _columns),
        *_each(versions, "selectableFields", _selectable),
        *_deprecations(versions),
        *_as_a_whole(versions),
    ]


def _each(versions: list[Object], field: str, check: Callable[[str, Object], Errors]) -> Errors:
    return [error for path, version in _parts(versions, field) for error in check(path, version)]


def _parts(versions: list[Object], field: str) -> Iterator[tuple[str, Object]]:
    """Each version with the path of one of its parts.

    What all versions share is checked once, and named as the real server names it: as a part of the spec.
    """
    shared = all(version.get(field) == versions[0].get(field) for version in versions) if versions else False
    if shared:
        yield f"spec.{'validation' if field == 'schema' else field}", versions[0]
        return
    for index, version in enumerate(versions):
        yield f"spec.versions[{index}].{field}", version


def _schemas_missing(versions: list[Object]) -> Errors:
    return [
        required(f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required")
        for index, version in enumerate(versions)
        if not isinstance(dig(version, "schema", "openAPIV3Schema"), dict)
    ]


def _version_names(versions: list[Object]) -> Errors:
    return [
        invalid(f"spec.versions[{index}].name", version.get("name"), why)
        for index, version in enumerate(versions)
        if (why := names.rfc1035_label(text(version, "name")))
    ]


def _as_a_whole(versions: list[Object]) -> Errors:
    found: Errors = []
    if len({text(version, "name") for version in versions}) != len(versions):
        found.append(invalid("spec.versions", versions, "must contain unique version names"))
    if sum(version.get("storage") is True for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        found.append(invalid("spec.versions", versions, why))
    return found


def _deprecations(versions: list[Object]) -> Errors:
    found: Errors = []
    for index, version in enumerate(versions):
        warning = version.get("deprecationWarning")
        if isinstance(warning, str) and (why := _bad_warning(version, warning)):
            found.append(invalid(f"spec.versions[{index}].deprecationWarning", warning, why))
    return found


def _bad_warning(version: Object, warning: str) -> str:
    if version.get("deprecated") is not True:
        return "can only be set for deprecated versions"
    if len(warning) > 256:
        return "must be <= 256 characters long"
    if not warning:
        return "must not be an empty string"
    return "" if warning.isprintable() else "must only contain printable UTF-8 characters"


# --- schema -----------------------------------------------------------------------------------------------


def _schema(path: str, version: Object, before: Object | None, check: SchemaCheck) -> Errors:
    schema = dig(version, "schema", "openAPIV3Schema")
    if schema is None or _was_accepted(version, before):
        return []
    has_status = isinstance(dig(version, "subresources", "status"), dict)
    return check(f"{path}.openAPIV3Schema", schema, has_status)


def _was_accepted(version: Object, before: Object | None) -> bool:
    """A schema that has not changed is not checked again: it may be large."""
    for old in entries(before, "versions"):
        if old.get("name") == version.get("name"):
            return old.get("schema") == version.get("schema")
    return False


# --- subresources, columns, selectable fields -------------------------------------------------------------


def _scale(path: str, version: Object) -> Errors:
    scale = dig(version, "subresources", "scale")
    if not isinstance(scale, dict):
        return []
    found: Errors = []
    for field, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        given = text(scale, field)
        if not given:
            found.append(required(f"{path}.scale.{field}"))
        else:
            why = f"should be a json path under {root[:-1]}"
            found += _simple_path(f"{path}.scale.{field}", given, (root,), why)
    selector = text(scale, "labelSelectorPath")
    if selector:
        why = "should be a json path under either .spec or .status"
        found += _simple_path(f"{path}.scale.labelSelectorPath", selector, (".spec.", ".status."), why)
    return found


def _simple_path(field: str, given: str, roots: tuple[str, ...], why: str) -> Errors:
    if not given.startswith("."):
        return [invalid(field, given, "must be a simple json path starting with .")]
    return [] if given.startswith(roots) else [invalid(field, given, why)]


def _columns(path: str, version: Object) -> Errors:
    columns = enumerate(entries(version, "additionalPrinterColumns"))
    return [error for index, column in columns for error in _column(f"{path}[{index}]", column)]


def _column(path: str, column: Object) -> Errors:
    found: Errors = []
    type, format, where = (text(column, field) for field in ("type", "format", "jsonPath"))
    if not text(column, "name"):
        found.append(required(f"{path}.name"))
    allowed = f"must be one of {','.join(COLUMN_TYPES)}"
    if not type:
        found.append(required(f"{path}.type", allowed))
    elif type not in COLUMN_TYPES:
        found.append(invalid(f"{path}.type", type, allowed))
    if format and format not in COLUMN_FORMATS:
        found.append(invalid(f"{path}.format", format, f"must be one of {','.join(COLUMN_FORMATS)}"))
    if not where:
        found.append(required(f"{path}.JSONPath"))
    elif not where.startswith("."):
        found.append(invalid(f"{path}.JSONPath", where, "must be a simple json path starting with ."))
    elif why := _unreadable(where):
        found.append(invalid(f"{path}.JSONPath", where, why))
    return found


def _unreadable(path: str) -> str:
    try:
        jsonpath.parse(path)
    except ValueError as error:
        return f'unrecognized column definition "{path}": {error}'
    return ""


def _selectable(path: str, version: Object) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    schema = mapping(version, "schema", "openAPIV3Schema")
    for index, field in enumerate(entries(version, "selectableFields")):
        where = text(field, "jsonPath")
        found += _selectable_field(f"{path}[{index}].jsonPath", where, schema)
        if where in seen:
            found.append(duplicate(f"{path}[{index}].jsonPath", where))
        seen.add(where)
    if len(seen) > _MAX_SELECTABLE:
        found.append(too_many(path, len(seen), _MAX_SELECTABLE))
    return found


def _selectable_field(path: str, where: str, schema: Object) -> Errors:
    if not where:
        return [required(path)]
    steps = where.split(".")
    if steps[0] or len(steps) < 2 or "[" in where:
        return [invalid(path, where, "is an invalid path: must be a simple json path starting with .")]
    if steps[1] == "metadata":
        return [invalid(path, where, "must not point to fields in metadata")]
    node: JSON = schema
    for step in steps[1:]:
        node = dig(node, "properties", step)
    if not isinstance(node, dict):
        return [invalid(path, where, "is an invalid path: does not refer to a valid field")]
    if node.get("type") in ("string", "boolean", "integer"):
        return []
    why = "must point to a field of type string, boolean or integer. "
    return [invalid(path, where, why + "Enum string fields and strings with formats are allowed.")]
