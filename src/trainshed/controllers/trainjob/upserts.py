"""Putting one item into a keyed list: one of the same key is replaced in its place, else it goes last."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trainshed.kinds.reading import entries, mapping
from trainshed.kube.objects import Object, text

INDEX_FIELD = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def upsert(
    target: Object, field: str, items: Iterable[Object], is_same: Callable[[Object, Object], bool]
) -> None:
    found = entries(target, field)
    for item in items:
        place = next((at for at, old in enumerate(found) if is_same(old, item)), None)
        if place is None:
            found.append(item)
        else:
            found[place] = item
    if found:
        target[field] = found


def by(key: str) -> Callable[[Object, Object], bool]:
    return lambda old, new: old.get(key) == new.get(key)


def environment(container: Object, *variables: Object) -> None:
    upsert(container, "env", variables, by("name"))


def volumes(pod: Object, *items: Object) -> None:
    upsert(pod, "volumes", items, by("name"))


def mounts(container: Object, *items: Object) -> None:
    upsert(container, "volumeMounts", items, by("mountPath"))


def port(container: Object, number: int) -> None:
    """One more port, without a name. (Upstream takes any two nameless ports for the same one.)"""
    upsert(container, "ports", [{"containerPort": number}], by("containerPort"))


# --- variables --------------------------------------------------------------------------------------------


def index_variable(name: str) -> Object:
    """The number of the pod among those of its Job."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": INDEX_FIELD}}}


def given(variables: Iterable[Object]) -> list[Object]:
    """Variables of a TrainJob as they go into a container: a value, be it empty, or the source of one."""
    return [_given(found) for found in variables]


def _given(found: Object) -> Object:
    source = mapping(found, "valueFrom")
    if source:
        return {"name": text(found, "name"), "valueFrom": source}
    return {"name": text(found, "name"), "value": text(found, "value")}
