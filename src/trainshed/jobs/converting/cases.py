"""A job in both forms, before and after its conversion, with a probe in place of its programs; pure."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.controllers.v1jobs import naming
from trainshed.jobs.converting import commands, converting, probe, topology
from trainshed.jobs.converting.topology import Member, Topology
from trainshed.kinds.kubeflow.families import MPI, TENSORFLOW, Family
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import JSON, Object, copied, text

PROBE: Final = inspect.getsource(probe)


@dataclass(frozen=True, slots=True)
class Case:
    """A job in both forms, so that each pod has its counterpart."""

    family: Family
    job: Object
    documents: tuple[Object, ...]
    topology: Topology

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.family.kind}/{text(self.job, 'metadata', 'name')}"

    @property
    def members(self) -> list[Member]:
        every = [member for group in self.topology.groups for member in group.members]
        return [member for member in every if self.family is not MPI or member[0] == "Launcher"]

    @property
    def fails_at_once(self) -> bool:
        """Does any failure end it? Then that can be compared, too."""
        return all(part.policy in ("Never", "ExitCode") for part in self.topology.parts)

    @property
    def held(self) -> tuple[str, ...]:
        """Variables that are left to torchrun."""
        template, named = self.topology.groups[0].part.template, self.family.container
        return commands.held(self.topology, _main(template, named))

    def old_host(self, member: Member, namespace: str) -> str:
        name = naming.member(self.family, text(self.job, "metadata", "name"), *member)
        return f"{name}.{namespace}.svc" if self.family is TENSORFLOW else name

    def new_host(self, member: Member) -> str:
        return self.topology.address(*member)


def case(family: Family, job: Object, documents: Sequence[Object]) -> Case:
    found = topology.planned(family, topology.name_of(job), topology.parts(family, job))
    return Case(family, job, tuple(documents), found)


def cases(documents: Sequence[JSON]) -> list[Case]:
    """The v1 jobs among documents, each with what takes its place."""
    found = []
    for document in (item for one in documents for item in converting.items(one)):
        family = converting.family_of(document)
        result = converting.one(document) if family is not None else None
        if family is not None and result is not None and result.converted:
            found.append(case(family, _named(document), converting.one(_named(document)).documents))
    return found


def _named(job: Object) -> Object:
    """With the name the server would make up."""
    if text(job, "metadata", "name"):
        return job
    return {**job, "metadata": {**job["metadata"], "name": f"{text(job, 'metadata', 'generateName')}xxxxx"}}


def before(found: Case, namespace: str, code: int) -> Object:
    """The v1 job with the probe in place of its programs, and nothing else that this machine may not have."""
    job: Object = copied(found.job)
    job["metadata"] = {"name": text(job, "metadata", "name"), "namespace": namespace}
    spec = job["spec"]
    for name in ("runPolicy", "cleanPodPolicy"):
        spec.pop(name, None)
    mapping(spec, "elasticPolicy").pop("metrics", None)
    hosts = [found.old_host(member, namespace) for member in found.members]
    for type, replica in spec[found.family.replicas].items():
        named = text(spec, "mainContainer") or found.family.container
        probes = found.family is not MPI or type == "Launcher"
        bare = _bare(mapping(replica, "template"), named, _settings(found, hosts, code) if probes else None)
        replica["template"] = bare
        if replica.get("restartPolicy") == "Always":  # it would never end, as is told when it is converted
            replica["restartPolicy"] = "OnFailure"
    return job


def after(found: Case, namespace: str, code: int) -> list[Object]:
    settings = _settings(found, [found.new_host(member) for member in found.members], code)
    made = [copied(document) for document in found.documents]
    for document in made:
        kept = {"labels": mapping(document, "metadata", "labels")}
        document["metadata"] = {"name": text(document, "metadata", "name"), "namespace": namespace, **kept}
        if document["kind"] == "TrainJob":
            _probe_trainjob(document["spec"], settings)
        else:
            _probe_runtime(found, document["spec"], settings)
    return made


def _probe_trainjob(spec: Object, settings: list[Object]) -> None:
    for name in ("runtimePatches", "suspend", "activeDeadlineSeconds", "managedBy"):
        spec.pop(name, None)
    trainer = spec.get("trainer")
    if isinstance(trainer, dict):
        for name in ("args", "resourcesPerNode"):
            trainer.pop(name, None)
        if "command" in trainer or "image" in trainer:
            trainer["command"] = ["python3", "-c", PROBE]
        trainer["env"] = [*_simple(entries(trainer, "env")), *settings]


def _probe_runtime(found: Case, spec: Object, settings: list[Object]) -> None:
    spec.pop("podGroupPolicy", None)
    inner = mapping(spec, "template", "spec")
    if found.family is not MPI or found.topology.is_single:
        inner.pop("successPolicy", None)  # all probes end, and all are to be heard
    for job in entries(inner, "replicatedJobs"):
        probes = found.family is not MPI or text(job, "name") != templates.NODE or found.topology.is_single
        pod = mapping(job, "template", "spec", "template")
        policy = text(pod, "spec", "restartPolicy")
        made = _bare(pod, templates.NODE, settings if probes else None)
        made["spec"]["restartPolicy"] = policy or "OnFailure"
        job["template"]["spec"]["template"] = made


def _bare(template: Object, main: str, settings: list[Object] | None) -> Object:
    """Only the container that trains, with the probe in it where `settings` are given."""
    whole = _main(template, main)
    kept = ("name", "image", "ports", "command", "args")
    container = {name: whole[name] for name in kept if name in whole}
    container["env"] = _simple(entries(whole, "env"))
    if settings is not None:
        container["command"], container["env"] = ["python3", "-c", PROBE], [*container["env"], *settings]
        container.pop("args", None)
    notes = mapping(template, "metadata", "annotations")  # some of them are for the operator
    return {"metadata": {"annotations": notes}, "spec": {"containers": [container]}}


def _main(template: Object, name: str) -> Object:
    """The container that trains: the one of that name, else the first."""
    containers = entries(template, "spec", "containers")
    return next((one for one in containers if text(one, "name") == name), containers[0])


def _simple(variables: Sequence[Object]) -> list[Object]:
    """Those that need no other object."""
    return [
        found
        for found in variables
        if not {"configMapKeyRef", "secretKeyRef"} & mapping(found, "valueFrom").keys()
    ]


def _settings(found: Case, hosts: Sequence[str], code: int) -> list[Object]:
    meets = found.family is not MPI
    return [
        {"name": "PROBE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "PROBE_HOSTS", "value": ",".join(hosts) if meets else ""},
        {"name": "PROBE_EXIT", "value": str(code)},
    ]
