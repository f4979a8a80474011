"""What Kubernetes does not like about a tenant's bounds, by the names of the request they came from; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from trainshed.backend import problems
from trainshed.backend.tenancy import objects
from trainshed.kube.faults import Invalid

_HARD: Final = re.compile(r"spec\.hard\[(?P<name>.+)\]", re.DOTALL)
_LIMITS: Final = re.compile(r"spec\.limits\[0\]\.(?P<part>defaultRequest|max)\[(?P<name>\w+)\]")
_WORDS: Final = {"defaultRequest": "default", "max": "max"}
_FIELD_OF: Final = {name: field for field, name in objects.FIELDS.items()}


@contextmanager
def of_request(other: Collection[str]) -> Iterator[None]:
    """Raises a 422 that names the request's own field; `other` are the names in its `quota.other`."""
    try:
        yield
    except Invalid as wrong:
        for cause in wrong.causes:
            if field := named(cause.field, other):
                raise problems.invalid(field, f"{field}: {cause.message}") from wrong
        raise


def named(field: str, other: Collection[str] = ()) -> str:
    """`quota.cpu` of `spec.hard[requests.cpu]`; empty for what is in no request."""
    if hard := _HARD.fullmatch(field):
        own = "" if hard["name"] in other else _FIELD_OF.get(hard["name"], "")
        return f"quota.{own}" if own else f"quota.other.{hard['name']}"
    if limits := _LIMITS.fullmatch(field):
        return f"limits.{_WORDS[limits['part']]}_{limits['name']}"
    return ""
