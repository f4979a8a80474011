"""What a request's model does not like, in plain words: which field, what is wanted, what was meant; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Final, Union, get_args, get_origin

from pydantic import BaseModel

from trainshed.backend import nearness
from trainshed.backend.models import parts, tenants
from trainshed.backend.models.conversions import ConvertRequest
from trainshed.backend.models.previews import PreviewRequest
from trainshed.backend.problems import Problem, field_path
from trainshed.kube.objects import JSON, dig

Error = Mapping[str, JSON]
_WANTED: Final[Mapping[str, str]] = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
    "datetime": "a time such as 2025-11-05T13:00:00Z",
}
_FORM_OF: Final[Mapping[str, str]] = {
    "env_vars": 'a list of {"name", "value"}',
    "volumes": 'a list of {"name", "pvc", "mountPath"}',
    "files": 'an object of paths and texts such as {"train.py": "…"}',
    "config": 'an object of {"num_nodes", "gpu_per_node", "cpu_per_node", "memory_per_node"}',
    "git": 'an object of {"url", "ref", "subfolder", "secret"}',
    "labels": 'an object such as {"team": "vision"}',
}
_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "string_too_long": ("max_length", "must be no more than {} characters"),
    "too_long": ("max_length", "must be no more than {} entries"),
}
_JSON_HINT: Final = "send JSON, with the header Content-Type: application/json"


_ALIASES: Final = {"idempotency-key": "idempotency_key"}
"""A header that is the same as a field of the body."""


def problem(errors: Sequence[Error], whole: str = "body", hint: str = _JSON_HINT) -> Problem:
    """The first thing that is wrong, names that are not known before what is missing; others are counted.

    What is wrong with all of it is told of `whole`, with the hint.
    """
    ordered = sorted(errors, key=lambda error: error.get("type") != "extra_forbidden")
    if not ordered:
        return Problem(422, "the request does not fit")
    first, place = ordered[0], _place(ordered[0])
    if first.get("type") == "json_invalid":
        why = dig(first.get("ctx"), "error") or first.get("msg")
        return Problem(422, f"{whole}: it is not JSON: {why}", field=whole, hint=hint)
    top = str(next(iter(first.get("loc") or ()), ""))
    field = field_path(place) or (whole if top == "body" else top) or None
    same = [error for error in ordered if _place(error) == place]
    others = len({field_path(_place(error)) for error in ordered}) - 1
    more = f" (and {others} more)" if others > 0 else ""
    told = _message(field, place, same) + more
    return Problem(422, told, field=field, hint=hint if top == "body" and not place else None)


def _message(field: str | None, place: Sequence[str | int], errors: Sequence[Error]) -> str:
    first = errors[0]
    kind = str(first.get("type") or "")
    if kind == "extra_forbidden":
        return _unknown(place)
    if kind == "missing":
        return f"{field} is needed"
    return f"{field}: {_wrong(place, errors)}" if field else _wrong(place, errors)


def _unknown(place: Sequence[str | int]) -> str:
    words = [part for part in place if isinstance(part, str)] or [""]
    name, inside = words[-1], next(reversed(words[:-1]), "")
    where = f" in {inside}" if inside else ""
    known = [other for other in _names(inside) if other != name]  # another request may have it
    near = nearness.did_you_mean(name, known)
    owner = next((other for other, model in _INSIDE.items() if name in _of(model)), "")
    if not inside and owner and owner != inside and not near:
        near = f"it belongs into {owner}"
    return f'there is no field "{name[:100]}"{where}' + (f"; {near}" if near else "")


def _wrong(place: Sequence[str | int], errors: Sequence[Error]) -> str:
    first = errors[0]
    kind, context = str(first.get("type") or ""), first.get("ctx") or {}
    if kind == "literal_error" and len(errors) == 1:
        return _one_of(str(first.get("input")), str(context.get("expected") or ""))
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return words.format(context.get(key))
    wanted = [*dict.fromkeys(filter(None, (_form(place, error) for error in errors)))]
    if wanted:
        return f"{' or '.join(wanted)} is wanted"
    return str(first.get("msg") or "does not fit").removeprefix("Value error, ")


def _form(place: Sequence[str | int], error: Error) -> str:
    kind = str(error.get("type") or "")
    what, _, how = kind.partition("_")
    if kind == "literal_error":
        return str((error.get("ctx") or {}).get("expected") or "").replace("'", '"')
    if how not in ("type", "parsing", "from_float", "attributes_type", "from_date_parsing"):
        return ""
    name = place[-1] if place else ""
    is_whole = what in ("list", "dict", "model")
    return (_FORM_OF.get(str(name), "") if is_whole else "") or _WANTED.get(what, "")


def _one_of(given: str, expected: str) -> str:
    known = [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    near = nearness.did_you_mean(given, known)
    return f"must be one of {', '.join(known)}" + (f"; {near}" if near else "")


# --- names --------------------------------------------------------------------------------------------------

_INSIDE: Final[Mapping[str, type[BaseModel]]] = {
    "config": parts.Config,
    "env_vars": parts.EnvVar,
    "volumes": parts.VolumeMount,
    "git": parts.GitSource,
    "launcher": parts.LauncherResources,
    "quota": tenants.Quota,
    "limits": tenants.Limits,
}
_BODIES: Final = (
    PreviewRequest, ConvertRequest, tenants.SignUpRequest, tenants.ChangeRequest, tenants.TokenRequestBody,
)  # fmt: skip


def _names(inside: str) -> Iterable[str]:
    models = (_INSIDE[inside],) if inside in _INSIDE else () if inside else _BODIES
    return [name for model in models for name in _of(model)]


def _of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


# --- places -------------------------------------------------------------------------------------------------


def _forms(annotation: object) -> list[object]:
    """The forms a field may have, null aside."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _forms(inner[0])
    if origin in (Union, UnionType):
        return [form for one in inner for form in _forms(one)]
    return [] if annotation is NoneType else [annotation]


def _annotations() -> Iterable[tuple[str, object]]:
    models: list[type[BaseModel]] = [*_BODIES, *_INSIDE.values()]
    for model in models:
        for name, field in model.model_fields.items():
            yield field.alias or name, field.annotation


_CHOICES: Final = frozenset(name for name, kind in _annotations() if len(_forms(kind)) > 1)
"""Fields of several forms: behind them pydantic has the form it tried."""
_TABLES: Final = frozenset(name for name, kind in _annotations() if dict in map(get_origin, _forms(kind)))
"""Fields with keys of the caller's own: behind a key comes nothing else of theirs."""


def _place(error: Error) -> Sequence[str | int]:
    """Where, in the caller's terms: a parameter is one word, forms that were tried are no part."""
    place = [*(error.get("loc") or ())]
    if not place or place[0] != "body":
        return [_ALIASES.get(str(name), name) for name in place[1:2]]
    return [part for at, part in enumerate(place) if at and not _is_form(place, at)]


def _is_form(place: Sequence[str | int], at: int) -> bool:
    """Callers may have keys of any name: what a part is goes by what is before it, not by how it reads."""
    return place[at - 1] in _CHOICES or (at > 1 and place[at - 2] in _TABLES)
