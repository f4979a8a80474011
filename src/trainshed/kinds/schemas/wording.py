"""Descriptions as packages carry them: attached to schemas, with the line breaks generators took out."""

from __future__ import annotations

import re
from typing import Final

from trainshed.kube.objects import JSON, Object

_ENUM_ITEM: Final = re.compile(r"\s+(?=- `)")


def described(schema: Object, text: JSON) -> Object:
    """The schema with a description; a reference cannot carry one and is wrapped, as the API server does."""
    if not isinstance(text, str) or not text:
        return schema
    text = restored(text)
    if "$ref" in schema:
        return {"description": text, "allOf": [schema]}
    return {"description": text, **schema}


def restored(text: str) -> str:
    """Breaks the list of enum values into lines again, the one place where the loss is hard to read."""
    start, found, values = text.partition("Possible enum values:")
    if not found:
        return text
    items = _ENUM_ITEM.sub("\n ", " " + values.strip())
    return f"{start.rstrip()}\n\nPossible enum values:{items}"
