"""Whether the names a definition asks for are free, and the status that says so."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from trainshed.kinds.kind import Kind
from trainshed.kinds.reading import mapping, sequence, texts
from trainshed.kube import conditions
from trainshed.kube.objects import JSON, Object, dig, text


@dataclass(frozen=True, slots=True)
class Taken:
    """Names other kinds of the same group have."""

    resources: Set[str]
    kinds: Set[str]


def taken(kinds: Iterable[Kind], crd: Object) -> Taken:
    """The names that are in use by others, built-in or custom, in the definition's group."""
    group = text(crd, "spec", "group")
    own = f"{text(crd, 'spec', 'names', 'plural')}.{group}"
    others = [kind for kind in kinds if kind.group == group and kind.resource != own]
    resources = {name for kind in others for name in (kind.plural, kind.singular, *kind.short_names)}
    return Taken(resources, {name for kind in others for name in (kind.kind, kind.list_kind)})


def establish(crd: Object, taken: Taken, now: str) -> None:
    """Accept the names that are free and set the conditions NamesAccepted and Established, in place.

    A definition that is established stays so: when a later change asks for a taken name, the old one is kept.
    """
    status = crd["status"] = dict(mapping(crd, "status"))
    accepted, conflict = _accepted(mapping(crd, "spec", "names"), mapping(status, "acceptedNames"), taken)
    status["acceptedNames"] = accepted
    listed = [item for item in sequence(status, "conditions") if isinstance(item, dict)]
    listed = conditions.put(listed, conflict or _NO_CONFLICT, now)
    if not conditions.is_true(listed, "Established"):
        listed = conditions.put(listed, _NOT_ACCEPTED if conflict else _ESTABLISHED, now)
    status["conditions"] = listed


_NO_CONFLICT: Object = {
    "type": "NamesAccepted",
    "status": "True",
    "reason": "NoConflicts",
    "message": "no conflicts found",
}
_ESTABLISHED: Object = {
    "type": "Established",
    "status": "True",
    "reason": "InitialNamesAccepted",
    "message": "the initial names have been accepted",
}
TERMINATING: Object = {
    "type": "Terminating",
    "status": "True",
    "reason": "InstanceDeletionInProgress",
    "message": "CustomResource deletion is in progress",
}
_NOT_ACCEPTED: Object = {
    "type": "Established",
    "status": "False",
    "reason": "NotAccepted",
    "message": "not all names are accepted",
}


def _accepted(asked: Object, before: Object, taken: Taken) -> tuple[Object, Object | None]:
    """The names to use, and the last conflict as a condition."""
    names = dict(before)
    conflict: Object | None = None
    fields = (("plural", taken.resources), ("singular", taken.resources), ("shortNames", taken.resources))
    for field, used in (*fields, ("kind", taken.kinds), ("listKind", taken.kinds)):
        clashes = _clashes(asked.get(field), before.get(field), used)
        if clashes:
            conflict = _conflict(field, clashes)
        elif field in asked:
            names[field] = asked[field]
        else:
            names.pop(field, None)
    names.pop("categories", None)
    if dig(asked, "categories"):
        names["categories"] = asked["categories"]
    return names, conflict


def _clashes(asked: JSON, before: JSON, used: Set[str]) -> list[str]:
    if isinstance(asked, list):
        kept = texts({"": before}, "")
        return [name for name in texts({"": asked}, "") if name in used and name not in kept]
    return [asked] if isinstance(asked, str) and asked != before and asked in used else []


def _conflict(field: str, clashes: list[str]) -> Object:
    found = [f'"{name}" is already in use' for name in clashes]
    return {
        "type": "NamesAccepted",
        "status": "False",
        "reason": f"{field[0].upper()}{field[1:]}Conflict",
        "message": found[0] if len(found) == 1 else f"[{', '.join(found)}]",
    }
