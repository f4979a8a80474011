"""A pod template of v1 as one of a runtime: its main container is called `node`, and knows its topology."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.controllers.v1jobs import naming
from trainshed.jobs.converting.findings import Findings
from trainshed.jobs.converting.parcels import Parcel, Path, says_something
from trainshed.kinds.kubeflow.families import MPI, TENSORFLOW, Family
from trainshed.kinds.reading import entries, mapping, sequence
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import JSON, Object, copied, text

NO_EFFECT: Final = "had no effect in v1 either"
_NAMED: Final = "a JobSet gives each of its pods a host name and a domain of its own"
_KEPT_METADATA: Final = ("labels", "annotations", "finalizers")
_SELECTING: Final = ("affinity", "topologySpreadConstraints")


@dataclass(frozen=True, slots=True)
class Pod:
    """A template in the making; all of it is ours."""

    template: Object
    main: Object
    """The container that trains; part of the template."""

    @property
    def spec(self) -> Object:
        found: Object = self.template["spec"]
        return found

    @property
    def metadata(self) -> Object:
        return mapping(self.template, "metadata")


def converted(template: Object, path: Path, main: str, findings: Findings) -> Pod:
    """The template without what v1 overruled, its main container, which was called `main`, renamed."""
    parcel = Parcel(template, findings, path)
    made: Object = {}
    if meta := _metadata(parcel):
        made["metadata"] = meta
    parcel.needless(f"{NO_EFFECT}: the replica's own restartPolicy counts", "spec", "restartPolicy")
    for name in ("hostname", "subdomain"):
        parcel.lost(_NAMED, "reach pods by the names they have now", "spec", name)
    made["spec"] = parcel.take("spec")
    parcel.close("a pod template has no such field")
    containers = entries(made["spec"], "containers")
    named = [container for container in containers if text(container, "name") == main]
    chosen = (named or containers)[0]
    _rename(made["spec"], chosen, findings, path)
    return Pod(made, chosen)


def _metadata(parcel: Parcel) -> Object:
    given = parcel.look("metadata")
    for name in [name for name in mapping(given) if name not in _KEPT_METADATA]:
        parcel.needless(NO_EFFECT, "metadata", name)
    meta = parcel.take("metadata")
    return {name: value for name, value in mapping(meta).items() if says_something(value)}


def _rename(spec: Object, chosen: Object, findings: Findings, path: Path) -> None:
    old = text(chosen, "name")
    chosen["name"] = templates.NODE
    for reference in _containers_named(spec):
        if text(reference, "containerName") == old:
            reference["containerName"] = templates.NODE
    index = entries(spec, "containers").index(chosen)
    if old != templates.NODE:
        findings.changed(
            (*path, "spec", "containers", index, "name"),
            f'the container is called "node" instead of "{old}"',
            "use that name with kubectl logs -c and exec -c",
        )


def _containers_named(value: JSON) -> Iterator[Object]:
    """All references to the resources of a container, in variables and volumes."""
    if isinstance(value, dict):
        if isinstance(value.get("resourceFieldRef"), dict):
            yield value["resourceFieldRef"]
        for inner in value.values():
            yield from _containers_named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _containers_named(inner)


def clashes(template: Object, main: str) -> bool:
    """Would the new name of the main container be that of another one?"""
    spec = mapping(template, "spec")
    both = entries(spec, "containers") + entries(spec, "initContainers")
    return main != templates.NODE and templates.NODE in [text(container, "name") for container in both]


# --- the environment ----------------------------------------------------------------------------------------


def equip(
    family: Family,
    pod: Pod,
    variables: Sequence[Object],
    reserved: Sequence[str],
    findings: Findings,
    path: Path,
) -> None:
    """The variables, where v1 sets them; the main container goes without those of the runtime's policy."""
    for index, container in enumerate(entries(pod.spec, "containers")):
        if not _is_told(family, pod, container):
            continue
        held = reserved if container is pod.main else ()
        given = [found for found in variables if text(found, "name") not in held]
        place = (*path, "spec", "containers", index, "env")
        own = _own(container, {text(found, "name") for found in variables} | set(held), findings, place)
        if own or given:
            container["env"] = own + copied(given)


def _is_told(family: Family, pod: Pod, container: Object) -> bool:
    """All containers are, but of a TFJob only the one that trains and of an MPIJob only the first."""
    if family is MPI:
        return container is entries(pod.spec, "containers")[0]
    return family is not TENSORFLOW or container is pod.main


def _own(container: Object, taken: set[str], findings: Findings, path: Path) -> list[Object]:
    """The container's variables that count: the last of each name, none of those the operator sets."""
    given = entries(container, "env")
    last = {text(found, "name"): index for index, found in enumerate(given)}
    kept: list[Object] = []
    gone: dict[str, Object] = {}
    for index, given_one in enumerate(given):
        found, name = _resolved(given_one, gone, findings, (*path, index)), text(given_one, "name")
        if name in taken or last[name] != index:
            gone[name] = found
        if name in taken:
            findings.needless((*path, index), f"{name} is set for the job, as v1's operator overruled it")
        elif last[name] != index:
            findings.needless((*path, index), f"a later {name} overrules it")
        else:
            kept.append(found)
    return kept


def _resolved(variable: Object, gone: dict[str, Object], findings: Findings, path: Path) -> Object:
    """With the values of variables it refers to that were set before it, and are not kept."""
    value, place = text(variable, "value"), (*path, "value")
    for name in dict.fromkeys(name for name in _REFERENCE.findall(value) if name in gone):
        if gone[name].get("valueFrom") is None:
            value = _replaced(value, name, text(gone[name], "value"))
            findings.needless(place, f"$({name}) is the value {name} has there, before it is overruled")
        else:
            why = f"$({name}) was what {name} is before it is overruled, and stays as it is written now"
            findings.changed(place, why, "give that variable another name")
    return variable if value == text(variable, "value") else {**variable, "value": value}


def _replaced(value: str, name: str, new: str) -> str:
    return _REFERENCE.sub(lambda match: new if match[1] == name else match[0], value)


_REFERENCE: Final = re.compile(r"(?<!\$)\$\(([^()$]+)\)")
"""Two dollars are one that refers to nothing."""


# --- labels -------------------------------------------------------------------------------------------------


def asked(pod: Pod) -> list[str]:
    """Those of v1's labels that a pod's rules of placement speak of."""
    return list(dict.fromkeys(name for field in _SELECTING for name in _asked(pod.spec.get(field))))


def keep_labels(
    pod: Pod, wanted: Sequence[str], marks: dict[str, str], findings: Findings, path: Path
) -> None:
    """Give pods those of v1's labels that are wanted, as far as they can have them."""
    if given := {name: marks[name] for name in wanted if name in marks}:
        meta = pod.template.setdefault("metadata", {})
        meta["labels"] = {**mapping(meta, "labels"), **given}
    for name in asked(pod):
        if name not in marks:
            why = f'pods do not have the label "{name}" their placement asks for'
            findings.changed((*path, "spec"), why, _OTHER_LABELS)


_OTHER_LABELS: Final = "use jobset.sigs.k8s.io/replicatedjob-name or batch.kubernetes.io/job-completion-index"


def _asked(value: JSON) -> Iterator[str]:
    """Labels of v1's that a selector speaks of."""
    if isinstance(value, dict):
        names = [*mapping(value, "matchLabels"), text(value, "key"), *sequence(value, "matchLabelKeys")]
        yield from (name for name in names if isinstance(name, str) and name.startswith(_PREFIX))
        for inner in value.values():
            yield from _asked(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _asked(inner)


_PREFIX: Final = naming.JOB.partition("/")[0] + "/"
