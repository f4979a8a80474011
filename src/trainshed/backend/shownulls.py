"""Examples of the OpenAPI document as answers really are: the framework drops every null from them; pure."""

from __future__ import annotations

from trainshed.kube.objects import JSON, Object, dig


def restore(document: Object) -> None:
    """Put a null where an example lacks a field that must be there and may be null."""
    for schema in document["components"]["schemas"].values():
        if "examples" in schema:
            schema["examples"] = [_with_nulls(document, schema, example) for example in schema["examples"]]


def _with_nulls(document: Object, schema: Object, example: JSON) -> JSON:
    forms = [form for form in schema.get("anyOf") or () if form.get("type") != "null"]
    schema = _resolved(document, forms[0] if len(forms) == 1 else schema)
    if isinstance(example, list):
        return [_with_nulls(document, schema.get("items") or {}, one) for one in example]
    if not isinstance(example, dict):
        return example
    fields: Object = schema.get("properties") or {}
    lacking = [name for name in schema.get("required") or () if _may_be_null(fields.get(name) or {})]
    full = {**dict.fromkeys(lacking), **example}
    return {name: _with_nulls(document, fields.get(name) or {}, value) for name, value in full.items()}


def _may_be_null(schema: Object) -> bool:
    return any(form.get("type") == "null" for form in schema.get("anyOf") or ())


def _resolved(document: Object, schema: Object) -> Object:
    found = dig(document, *str(schema.get("$ref") or "").removeprefix("#/").split("/"))
    return found if isinstance(found, dict) else schema
