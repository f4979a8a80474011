"""TrainJobs of v2.0 and v2.1 in the words of v2.2: what they say about pods becomes runtime patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainshed.jobs.converting.findings import Findings
from trainshed.jobs.converting.parcels import Parcel, Path, says_something
from trainshed.jobs.converting.patches import MANAGER, POD_FIELDS
from trainshed.kinds.reading import entries, mapping, sequence
from trainshed.kube.numbers import whole
from trainshed.kube.objects import JSON, Object, copied, dig, text

OLD: Final = ("podSpecOverrides", "podTemplateOverrides", "labels", "annotations")
_CONTAINER: Final = ("name", "env", "volumeMounts", "securityContext")
_MOST: Final = 16
Entry = tuple[list[str], Object]
"""Names of jobs and the pod template that is laid over theirs."""


def is_old(job: Object) -> bool:
    words = dig(job, "spec", "trainer", "numProcPerNode")
    return any(name in mapping(job, "spec") for name in OLD) or isinstance(words, str)


def faults(job: Object) -> Iterator[tuple[Path, str]]:
    """What is of another type than it must be: nobody knows what it is to say."""
    spec = mapping(job, "spec")
    for name in ("labels", "annotations", "trainer"):
        yield from _no_map(spec.get(name), ("spec", name))
    yield from _no_maps(spec.get("runtimePatches"), ("spec", "runtimePatches"))
    for name, inner in (("podSpecOverrides", ()), ("podTemplateOverrides", ("spec",))):
        yield from _no_maps(spec.get(name), ("spec", name))
        for index, entry in enumerate(entries(spec, name)):
            yield from _entry_faults(entry, ("spec", name, index), inner)


def _entry_faults(entry: Object, path: Path, inner: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    targets = (*path, "targetJobs")
    yield from _no_maps(entry.get("targetJobs"), targets)
    if not sequence(entry, "targetJobs"):
        yield targets, "it names no job"
    for index, target in enumerate(entries(entry, "targetJobs")):
        if not text(target, "name"):
            yield (*targets, index, "name"), "it is no name of a job"
    for name in ("metadata", *inner):
        yield from _no_map(entry.get(name), (*path, name))
    for field in ("labels", "annotations"):
        yield from _no_map(mapping(entry, "metadata").get(field), (*path, "metadata", field))
    for field in ("initContainers", "containers"):
        yield from _no_maps(dig(entry, *inner, field), (*path, *inner, field))


def _no_map(value: JSON, path: Path) -> Iterator[tuple[Path, str]]:
    if value is not None and not isinstance(value, dict):
        yield path, "it must be a map"


def _no_maps(value: JSON, path: Path) -> Iterator[tuple[Path, str]]:
    if value is not None and not isinstance(value, list):
        yield path, "it must be a list"
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if not isinstance(item, dict):
            yield (*path, index), "it must be a map"


def converted(job: Object, findings: Findings) -> Object:
    made: Object = copied(job)
    spec = Parcel(mapping(made, "spec"), findings, ("spec",))
    found = [*_of_specs(spec), *_of_templates(spec)]
    meta = {name: value for name in ("labels", "annotations") if says_something(value := spec.take(name))}
    added = _patches(found, meta, {text(patch, "manager") for patch in entries(spec.look("runtimePatches"))})
    given = sequence(spec.take("runtimePatches"))
    trainer = _trainer(spec)
    kept: Object = {
        name: value for name, value in mapping(made, "spec").items() if name not in (*OLD, "trainer")
    }
    made["spec"] = _ordered(kept, trainer, [*given, *added])
    if len(given) + len(added) > _MOST:
        findings.changed(
            ("spec", "runtimePatches"), f"there are more than {_MOST} patches, which are refused"
        )
    return made


def _ordered(kept: Object, trainer: Object, changes: list[JSON]) -> Object:
    """The trainer where people look for it, then the patches, then the rest."""
    first: Object = {name: kept.pop(name) for name in ("runtimeRef", "initializer") if name in kept}
    kept.pop("runtimePatches", None)
    middle = {**({"trainer": trainer} if trainer else {}), **({"runtimePatches": changes} if changes else {})}
    return {**first, **middle, **kept}


def _trainer(spec: Parcel) -> Object:
    """Words for a number of processes went with v2.2."""
    path, trainer = ("trainer", "numProcPerNode"), mapping(spec.take("trainer"))
    given = trainer.get("numProcPerNode")
    if not isinstance(given, str):
        return trainer
    if (number := whole(given)) is not None:
        return {**trainer, "numProcPerNode": number}
    if given == "auto":
        spec.findings.needless(spec.path(*path), "it is chosen by the resources unless it is said")
    else:
        why = f'Trainer 2.2 takes a number only: instead of "{given}" it is chosen by the resources'
        spec.findings.lost(spec.path(*path), why, "give it a number, or torchrun --nproc-per-node")
    return {name: value for name, value in trainer.items() if name != "numProcPerNode"}


# --- overrides ----------------------------------------------------------------------------------------------


def _of_specs(spec: Parcel) -> Iterator[Entry]:
    """v2.0: fields of a pod, beside the names of the jobs."""
    for index, given in enumerate(entries(spec.take("podSpecOverrides"))):
        place = spec.path("podSpecOverrides")
        entry = Parcel(given, spec.findings, (*place, index))
        targets = _targets(entry)
        yield targets, {"spec": _pod(entry, ())}
        entry.close("runtime patches have no such field")


def _of_templates(spec: Parcel) -> Iterator[Entry]:
    """v2.1: a pod template."""
    for index, given in enumerate(entries(spec.take("podTemplateOverrides"))):
        place = spec.path("podTemplateOverrides")
        entry = Parcel(given, spec.findings, (*place, index))
        targets = _targets(entry)
        meta = {name: entry.take("metadata", name) for name in ("labels", "annotations")}
        told = {name: value for name, value in meta.items() if says_something(value)}
        pod = _pod(entry, ("spec",))
        yield targets, {**({"metadata": told} if told else {}), **({"spec": pod} if pod else {})}
        entry.close("runtime patches have no such field")


def _targets(entry: Parcel) -> list[str]:
    found = []
    for index, target in enumerate(entries(entry.take("targetJobs"))):
        parcel = Parcel(target, entry.findings, (*entry.path("targetJobs"), index))
        parcel.take("name")
        parcel.close("runtime patches name jobs, and say nothing else about which are meant")
        found.append(text(target, "name"))
    return found


def _pod(entry: Parcel, path: tuple[str, ...]) -> Object:
    found: Object = {}
    for name in POD_FIELDS:
        value = entry.take(*path, name)
        if says_something(value):
            found[name] = value
    for name in ("initContainers", "containers"):
        listed = entries(entry.take(*path, name))
        patched = [
            _container(one, entry.findings, (*entry.path(*path, name), index))
            for index, one in enumerate(listed)
        ]
        if patched:
            found[name] = patched
    return found


def _container(given: Object, findings: Findings, path: Path) -> Object:
    parcel = Parcel(given, findings, path)
    found = {name: value for name in _CONTAINER if says_something(value := parcel.take(name))}
    parcel.close("runtime patches have no such field for containers")
    return found


# --- patches ------------------------------------------------------------------------------------------------


def _patches(found: list[Entry], meta: Object, taken: set[str]) -> list[Object]:
    """In the order of the overrides: as many patches as it takes for none to speak of a job twice."""
    layers: list[dict[str, Object]] = []
    for targets, template in found:
        for target in dict.fromkeys(targets):
            # A later word about a job counts more: it may not move before an earlier one.
            depth = max((index + 1 for index, layer in enumerate(layers) if target in layer), default=0)
            if depth == len(layers):
                layers.append({})
            layers[depth][target] = template
    if meta and not layers:
        layers.append({})
    names = iter(_managers(taken))
    made = [_patch(next(names), layer) for layer in layers]
    if meta:
        # The v2.1 fields were laid over everything else.
        made[-1]["trainingRuntimeSpec"]["template"] = {
            "metadata": meta,
            **made[-1]["trainingRuntimeSpec"]["template"],
        }
    return made


def _managers(taken: set[str]) -> Iterator[str]:
    number = 1
    while True:
        name = MANAGER if number == 1 else f"{MANAGER}-{number}"
        if name not in taken:
            yield name
        number += 1


def _patch(manager: str, layer: dict[str, Object]) -> Object:
    jobs = [
        {"name": name, "template": {"spec": {"template": copied(pod)}}} for name, pod in layer.items() if pod
    ]
    template = {"spec": {"replicatedJobs": jobs}} if jobs else {}
    return {"manager": manager, "trainingRuntimeSpec": {"template": template}}
