"""What may stand behind each word of a schema.

Schemas are checked by the schema of schemas, like all bodies; but what `items` and `additionalProperties`
hold may be two things each (a schema or a list of them, a schema or a flag), which that cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trainshed.kube.faults import FieldError, invalid
from trainshed.kube.objects import JSON, Object


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JSON) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _are_objects(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is(*types: type) -> Callable[[JSON], bool]:
    return lambda value: isinstance(value, types)


_WORDS: Mapping[Callable[[JSON], bool], tuple[str, ...]] = {
    _is(str): (
        "type", "format", "title", "description", "pattern", "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    ),
    _is(bool): (
        "nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields",
    ),
    _is(dict): ("properties", "not"),
    _is(dict, list): ("items",),
    _is(dict, bool): ("additionalProperties",),
    _is(list): ("enum",),
    _is_number: ("minimum", "maximum", "multipleOf"),
    _is_count: ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    _are_texts: ("required", "x-kubernetes-list-map-keys"),
    _are_objects: ("allOf", "anyOf", "oneOf", "x-kubernetes-validations"),
}  # fmt: skip
_FITS = {word: fits for fits, words in _WORDS.items() for word in words}


def errors(path: str, source: Object) -> Iterator[FieldError]:
    for word, value in source.items():
        if value is not None and word in _FITS and not _FITS[word](value):
            yield invalid(f"{path}.{word}", value, "is not what an OpenAPI schema has here")
