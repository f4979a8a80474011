"""What a job's pods saw before and after its conversion, held against each other; pure."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from trainshed.controllers.trainjob.plugins.plugin import PORT
from trainshed.controllers.v1jobs import elastic, naming
from trainshed.jobs.converting import converting, probe, topology, variables
from trainshed.jobs.converting.topology import Member, Topology
from trainshed.kinds.kubeflow.families import MPI, MXNET, TENSORFLOW, Family
from trainshed.kinds.reading import entries, mapping
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import JSON, Object, copied, dig, text

PROBE: Final = inspect.getsource(probe)
RANKS: Final = ("RANK", "PET_NODE_RANK", "PROCESS_ID", "DMLC_WORKER_ID")
SIZES: Final = ("WORLD_SIZE", "PET_NNODES", "NUM_PROCESSES", "PADDLE_NNODES", "DMLC_NUM_WORKER")
_ENDED: Final = (128 + 15, 128 + 9)
"""The codes of programs that are ended because their job has failed."""
_OWN: Final = ("POD_IP_DUMMY",)
_TORCHRUNS: Final = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
"""What torchrun sets for its processes, so that jobs that start it need not."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one pod told, and how it ended."""

    address: str = ""
    hosts: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    slots: tuple[str, ...] = ()
    met: bool = False
    code: int | None = None
    """None where it is not known."""


@dataclass(frozen=True, slots=True)
class Run:
    """A job that has run: its pods by their hosts, and its end."""

    pods: Mapping[str, Report]
    end: str
    """Succeeded or Failed in v1's words, or what it did instead."""


@dataclass(frozen=True, slots=True)
class Row:
    old: str
    new: str
    rank: tuple[str, str]
    size: tuple[str, str]
    address: tuple[str, str]
    """Whether it found all others."""
    code: tuple[str, str]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    job: str
    rows: tuple[Row, ...]
    faults: tuple[str, ...] = ()
    """Of the job as a whole."""

    @property
    def holds(self) -> bool:
        return not self.faults and not any(row.faults for row in self.rows)


# --- jobs with the probe in them ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A job in both forms, so that each pod has its counterpart."""

    family: Family
    job: Object
    documents: tuple[Object, ...]
    topology: Topology

    @property
    def members(self) -> list[Member]:
        every = [member for group in self.topology.groups for member in group.members]
        return [member for member in every if self.family is not MPI or member[0] == "Launcher"]

    @property
    def fails_at_once(self) -> bool:
        """Does any failure end it? Then that can be compared, too."""
        return all(part.policy in ("Never", "ExitCode") for part in self.topology.parts)

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
    containers = entries(template, "spec", "containers")
    named = [container for container in containers if text(container, "name") == main] or containers
    kept = ("name", "image", "ports", "command", "args")
    container = {name: named[0][name] for name in kept if name in named[0]}
    container["env"] = _simple(entries(named[0], "env"))
    if settings is not None:
        container["command"], container["env"] = ["python3", "-c", PROBE], [*container["env"], *settings]
        container.pop("args", None)
    notes = mapping(template, "metadata", "annotations")  # some of them are for the operator
    return {"metadata": {"annotations": notes}, "spec": {"containers": [container]}}


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


# --- reading ------------------------------------------------------------------------------------------------


def report(log: str, code: int | None) -> Report:
    """From what a pod has written; the last word counts."""
    told = [line.removeprefix(probe.MARK) for line in log.splitlines() if line.startswith(probe.MARK)]
    said: JSON = json.loads(told[-1]) if told else {}
    return Report(
        text(said, "address"),
        mapping(said, "hosts"),
        mapping(said, "variables"),
        tuple(said.get("slots") or ()),
        bool(said.get("met")) and all(said.get("reached") or ()),
        code,
    )


def exit_code(pod: Object, container: str) -> int | None:
    for status in entries(pod, "status", "containerStatuses"):
        if text(status, "name") == container:
            found = dig(status, "state", "terminated", "exitCode")
            return found if isinstance(found, int) else None
    return None


# --- comparing ----------------------------------------------------------------------------------------------


def compare(found: Case, namespace: str, old: Run, new: Run) -> Proof:
    rows = tuple(_row(found, namespace, member, old, new) for member in found.members)
    is_endless = (
        found.family is MXNET and found.topology.part("Scheduler") is None
    )  # as is told when converted
    faults = [f"v1 ended {old.end}, the TrainJob {new.end}"] if old.end != new.end and not is_endless else []
    return Proof(f"{found.family.kind}/{text(found.job, 'metadata', 'name')}", rows, tuple(faults))


def compare_failure(found: Case, old: Run, new: Run, code: int) -> list[str]:
    """Of runs in which every program ends with a code: both fail, and it is that code that is seen."""
    faults = (
        []
        if old.end == new.end == "Failed"
        else [f"with exit code {code} v1 is {old.end}, the TrainJob {new.end}"]
    )
    for run, whose in ((old, "v1"), (new, "the TrainJob")):
        codes = {one.code for one in run.pods.values() if one.code is not None}
        if code not in codes or codes - {code, *_ENDED}:
            faults.append(f"with exit code {code} pods of {whose} ended with {sorted(codes) or 'none'}")
    return faults


def _row(found: Case, namespace: str, member: Member, old: Run, new: Run) -> Row:
    names = found.old_host(member, namespace), found.new_host(member)
    was, now = old.pods.get(names[0], Report()), new.pods.get(names[1], Report())
    return Row(
        names[0].partition(".")[0],
        names[1].partition(".")[0],
        _ranks(was, now),
        _sizes(was, now),
        ("found" if was.met else "missing", "found" if now.met else "missing"),
        (_code(was), _code(now)),
        tuple(_faults(found, namespace, was, now, old, new)),
    )


def _shared(was: Report, now: Report, names: Sequence[str]) -> tuple[str, str]:
    """The values of the first variable that both have, or of the first that one has."""
    held = [name for name in names if name in was.variables or name in now.variables]
    name = next((one for one in held if one in was.variables and one in now.variables), next(iter(held), ""))
    return was.variables.get(name, "-"), now.variables.get(name, "-")


def _ranks(was: Report, now: Report) -> tuple[str, str]:
    tasks = [mapping(_cluster(one), "task") for one in (was, now)]
    if all(tasks):
        old, new = (f"{task.get('type')} {task.get('index')}" for task in tasks)
        return old, new
    return _shared(was, now, RANKS)


def _sizes(was: Report, now: Report) -> tuple[str, str]:
    clusters = [mapping(_cluster(one), "cluster") for one in (was, now)]
    if all(clusters):
        old, new = (str(sum(len(hosts or ()) for hosts in cluster.values())) for cluster in clusters)
        return old, new
    if was.slots or now.slots:
        return str(len(was.slots)), str(len(now.slots))
    return _shared(was, now, SIZES)


def _cluster(one: Report) -> JSON:
    given = one.variables.get("TF_CONFIG") or one.variables.get("MX_CONFIG")
    found = _normal(given)
    return found if isinstance(found, dict) else {}


def _code(one: Report) -> str:
    return "-" if one.code is None else str(one.code)


def _faults(found: Case, namespace: str, was: Report, now: Report, old: Run, new: Run) -> Iterator[str]:
    if not was.met or not now.met:
        yield f"did not find all others ({'v1' if not was.met else 'TrainJob'})"
    if was.code != now.code:
        yield f"exit code {_code(was)} became {_code(now)}"
    if len(was.slots) != len(now.slots) or _slots(was) != _slots(now):
        yield f"hostfile {was.slots} became {now.slots}"
    for name, value in was.variables.items():
        wanted = _normal(_translated(found, namespace, name, value, was, now, old, new))
        given = now.variables.get(name)
        if name in _OWN or (given is None and name in _TORCHRUNS and "PET_NODE_RANK" in now.variables):
            continue
        if name == "PET_NPROC_PER_NODE" and value == "auto":
            continue  # it is chosen by the resources, as is told when it is converted
        if _normal(given) != wanted:
            yield f"{name} {value!r} became {given!r}"


def _slots(one: Report) -> list[str]:
    return [line.partition(" ")[2] for line in one.slots]


def _translated(
    found: Case, namespace: str, name: str, value: str, was: Report, now: Report, old: Run, new: Run
) -> str:
    """What a value of v1's has to be now: the same pods by their new names, on the port they have now."""
    hosts = {found.old_host(member, namespace): found.new_host(member) for member in found.members}
    for short, full in sorted(hosts.items(), key=lambda pair: -len(pair[0])):
        value = re.sub(rf"(?<![\w.-]){re.escape(short)}(?![\w-])", full, value)
    if was.address:
        value = value.replace(was.address, now.address)
    bounds = elastic.bounds(found.job, variables.counted(found.topology))
    if name == "PET_NNODES" and bounds is not None and found.topology.is_single:
        # As is told when it is converted: there are never more than were asked for.
        return f"{min(bounds.least, found.topology.total)}:{found.topology.total}"
    port = str(found.topology.parts[0].port)
    if (
        found.topology.is_single
        and found.family.kind in ("PyTorchJob", "XGBoostJob", "JAXJob")
        and name != "WORKER_PORT"
    ):
        value = str(PORT) if value == port else value.replace(f":{port}", f":{PORT}")
    return value


def _normal(value: str | None) -> JSON:
    if value and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
