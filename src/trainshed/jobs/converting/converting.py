"""Documents, whatever they are: those of old kinds and dialects converted, all others as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.jobs.converting import budgets, differences, legacy, lists, overrides, pods, shapes, topology
from trainshed.jobs.converting.budgets import Budget
from trainshed.jobs.converting.findings import Finding, Findings
from trainshed.kinds.kubeflow import late_checks, validate
from trainshed.kinds.kubeflow.families import FAMILIES, MPI, Family
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import dialects
from trainshed.kinds.trainer.runtime_parts import API_VERSION
from trainshed.kube.objects import JSON, Object, copied, text

_GROUP: Final = "kubeflow.org/"
_RUNTIMES: Final = ("TrainingRuntime", "ClusterTrainingRuntime")
_LEGACY: Final = frozenset(family.kind for family in FAMILIES)
_MOST_PODS: Final = 4096
_MOST_TOLD: Final = 65_536
"""Containers times pods: many variables name all pods, and every container has them."""
_OURS: Final = "report it with the manifest"
_PARTIAL: Final = "if it is a patch of a kustomization, convert what that builds, with -k"


@dataclass(frozen=True, slots=True)
class Conversion:
    documents: tuple[JSON, ...]
    findings: tuple[Finding, ...]
    converted: int
    """How many objects became others."""


def convert(documents: Sequence[JSON], budget: Budget | None = None) -> Conversion:
    """What takes the place of the documents, in order, and all there is to say about it.

    Raises `TooMuch` where a budget is given and does not suffice.
    """
    for document in documents if budget is not None else ():
        spend(budget, document)
    found = [one(document) for document in documents]
    made = tuple(document for each in found for document in each.documents)
    findings = [finding for each in found for finding in each.findings]
    return Conversion(made, (*findings, *namesakes(documents, made)), sum(each.converted for each in found))


def spend(budget: Budget | None, document: JSON) -> None:
    if budget is not None:
        budget.spend(budgets.size(document) + budgets.PER_POD * weight(document))


def one(document: JSON) -> Conversion:
    """A single document, which may be a list of others."""
    if lists.is_list(document):
        return _list(document)
    try:
        return _single(document)
    except Exception as error:  # a fault of ours in one document keeps no other from its turn
        findings = Findings(f"{text(document, 'kind')}/{_name(document)}")
        findings.refused((), f"a fault of the converter ({type(error).__name__}: {str(error)[:100]})", _OURS)
        return Conversion((document,), tuple(findings.found), 0)


def _single(document: JSON) -> Conversion:
    kind, version = text(document, "kind"), text(document, "apiVersion")
    findings = Findings(f"{kind}/{_name(document)}")
    if (family := family_of(document)) is not None:
        return _legacy(family, document, findings)
    if version == API_VERSION:
        return _trainers(document, findings)
    if kind == "Experiment" and (inner := _trial(document)):
        why = f"trials that are {inner}s stay so: what tells their end and their pods is named beside them"
        findings.refused(
            ("spec", "trialTemplate", "trialSpec"), why, "convert its job and adapt the conditions"
        )
    if kind == "Kustomization" or (not kind and isinstance(document, dict)):
        _tell_kustomization(document, findings)
    return Conversion((document,), tuple(findings.found), 0)


def _trial(document: JSON) -> str:
    """The old kind an Experiment's trials are of, if they are."""
    family = family_of(mapping(document, "spec", "trialTemplate", "trialSpec"))
    return family.kind if family else ""


def family_of(document: JSON) -> Family | None:
    """Which of the old kinds it is, if any."""
    if not text(document, "apiVersion").startswith(_GROUP):
        return None
    return next((family for family in FAMILIES if family.kind == text(document, "kind")), None)


def _name(document: JSON) -> str:
    return text(document, "metadata", "name") or text(document, "metadata", "generateName") or "?"


def _list(document: Object) -> Conversion:
    findings = Findings(text(document, "kind"))
    if not lists.is_readable(document, findings):
        return Conversion((document,), tuple(findings.found), 0)
    found = [one(item) for item in lists.items(document)]
    told = [finding for each in found for finding in each.findings]
    count = sum(each.converted for each in found)
    made = lists.remade(document, [item for each in found for item in each.documents], findings)
    return Conversion((made if count else document,), (*(findings.found if count else ()), *told), count)


def _trainers(document: Object, findings: Findings) -> Conversion:
    kind = text(document, "kind")
    if kind == "TrainJob" and overrides.is_old(document):
        for path, why in overrides.faults(document):
            findings.refused(path, why)
        if findings.found:
            return Conversion((document,), tuple(findings.found), 0)
        return Conversion((overrides.converted(document, findings),), tuple(findings.found), 1)
    if kind in _RUNTIMES:
        for warning in dialects.runtime_warnings(document):
            field, _, why = warning.partition(": ")
            findings.at("behaves differently", field, f"left as it is: {why}")
    return Conversion((document,), tuple(findings.found), 0)


# --- v1 -----------------------------------------------------------------------------------------------------


def _legacy(family: Family, document: Object, findings: Findings) -> Conversion:
    if why := next(_unknown(family, document), ""):
        findings.refused((), why, _PARTIAL)
    elif wrong := shapes.faults(family, document):
        for field, why in wrong:
            findings.at("not converted", field, f"v1 refuses it too: {why}", _PARTIAL)
    elif why := next(_refusals(family, document), ""):
        findings.refused((), why, _PARTIAL)
    if findings.found:
        return Conversion((document,), tuple(findings.found), 0)
    made = legacy.converted(family, document, findings)
    return Conversion(tuple(made), tuple(findings.found), 1)


def _unknown(family: Family, document: Object) -> Iterator[str]:
    """Why nobody can tell what it is."""
    version = text(document, "apiVersion").removeprefix(_GROUP)
    if version not in (("v1", "v2beta1") if family is MPI else ("v1",)):
        yield f"version {version} of {family.kind} is not known, only v1"
    if not text(document, "metadata", "name") and not text(document, "metadata", "generateName"):
        yield "it has no name"


def _refusals(family: Family, document: Object) -> Iterator[str]:
    """Why a job cannot be converted: it could not run as it is either, or not as what it would become."""
    job = _filled(family, document)
    if family.has_webhook:
        yield from (f"v1 refuses it too: {error}" for error in validate.errors(family, job, None))
    elif wrong := late_checks.fault(family, job):
        yield f"v1 refuses it too: {wrong}"
    if any(pods.clashes(template, main) for template, main in legacy.main_containers(family, job)):
        yield 'a container is called "node", which is what TrainJobs call the one that trains'
    parts = topology.parts(family, job)
    asked = sum(part.count for part in parts)
    if not asked:
        yield "it asks for no pods at all"
    if asked > _MOST_PODS:
        yield f"it asks for {asked} pods, and more than {_MOST_PODS} cannot be told of each other"
    if weight(document) > _MOST_TOLD:
        yield f"it has too many containers for {asked} pods, each of which is told of all others"
    if surplus := differences.surplus(topology.planned(family, text(job, "metadata", "name"), parts)):
        yield f"its name is too long for a TrainJob's pods, by {surplus}: their names may have 63 characters"


def weight(document: JSON) -> int:
    """How large the result may become: pods times containers, for each container is told of all pods."""
    family = family_of(document)
    if family is None:
        return sum(map(weight, lists.items(document))) if lists.is_list(document) else 0
    parts = topology.parts(family, document)
    if sum(part.count for part in parts) > _MOST_PODS:
        return 0  # it is not converted
    containers = sum(len(entries(part.template, "spec", "containers")) for part in parts)
    return sum(part.count for part in parts) * max(1, containers)


def _filled(family: Family, document: Object) -> Object:
    """With a name, where the server is to make one up, and the number of masters that goes without saying."""
    job: Object = copied(document)
    meta = job.setdefault("metadata", {})
    if isinstance(meta, dict) and not text(meta, "name") and text(meta, "generateName"):
        meta["name"] = f"{meta['generateName'].lower()}xxxxx"
    master = mapping(job, "spec", family.replicas).get("Master")
    if family.one_master and isinstance(master, dict) and master.get("replicas") is None:
        master["replicas"] = 1
    return job


# --- what concerns several ----------------------------------------------------------------------------------


def namesakes(before: Iterable[JSON], after: Iterable[JSON]) -> Iterator[Finding]:
    """Objects of several kinds that had one name and are of one kind now."""
    old, new = _places(before), _places(after)
    for (kind, place, name), count in new.items():
        sources = [key for key in old if key[1:] == (place, name) and (key[0] == kind or key[0] in _LEGACY)]
        if count > 1 and len(sources) > 1:
            listed = " and ".join(source for source, _, _ in sources)
            why = f"{listed} of this name both become one, and the last would overrule the others"
            yield Finding("not converted", f"{kind}/{name}", "metadata.name", why, "rename all but one")


def _places(documents: Iterable[JSON]) -> Counter[tuple[str, str, str]]:
    every = (item for one in documents for item in items(one))
    named = ((text(item, "kind"), item) for item in every if text(item, "metadata", "name"))
    return Counter(
        (kind, text(item, "metadata", "namespace"), text(item, "metadata", "name"))
        for kind, item in named
        if kind in _LEGACY or kind in ("TrainJob", "TrainingRuntime")
    )


def items(document: JSON) -> list[Object]:
    """A document, or what it lists, and what those list."""
    if not lists.is_list(document):
        return [document]
    return [inner for item in lists.items(document) for inner in items(item)]


def _tell_kustomization(document: Object, findings: Findings) -> None:
    """Patches speak of fields by their old places."""
    for name in ("patches", "patchesJson6902"):
        for index, patch in enumerate(entries(document, name)):
            kind = text(patch, "target", "kind")
            if kind in _LEGACY:
                findings.object = "Kustomization"
                why = f"a patch of {kind}s cannot be carried over by itself"
                findings.refused((name, index), why, "convert what the kustomization builds, with -k")
