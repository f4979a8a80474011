"""What a job's pods saw before and after its conversion, held against each other; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from trainshed.controllers.trainjob.plugins.plugin import PORT
from trainshed.controllers.v1jobs import elastic
from trainshed.jobs.converting import probe, variables
from trainshed.jobs.converting.cases import Case
from trainshed.jobs.converting.topology import Member
from trainshed.kinds.kubeflow.families import MXNET
from trainshed.kinds.reading import entries, mapping
from trainshed.kube.objects import JSON, Object, dig, text

RANKS: Final = ("RANK", "PET_NODE_RANK", "PROCESS_ID", "DMLC_WORKER_ID")
SIZES: Final = ("WORLD_SIZE", "PET_NNODES", "NUM_PROCESSES", "PADDLE_NNODES", "DMLC_NUM_WORKER")
_ENDED: Final = (128 + 15, 128 + 9)
"""The codes of programs that are ended because their job has failed."""
_OWN: Final = ("POD_IP_DUMMY",)


@dataclass(frozen=True, slots=True)
class Report:
    """What one pod told, and how it ended."""

    address: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    slots: tuple[str, ...] = ()
    met: bool = False
    trouble: str = ""
    """Whom it did not find."""
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
    skipped: str = ""
    """Why it was not tried at all."""

    @property
    def holds(self) -> bool:
        """Was nothing found that speaks against it?"""
        return not self.faults and not any(row.faults for row in self.rows)


# --- reading ------------------------------------------------------------------------------------------------


def report(log: str, code: int | None) -> Report:
    """From what a pod has written; the last word counts."""
    told = [line.removeprefix(probe.MARK) for line in log.splitlines() if line.startswith(probe.MARK)]
    said: JSON = json.loads(told[-1]) if told else {}
    return Report(
        text(said, "address"),
        mapping(said, "variables"),
        tuple(said.get("slots") or ()),
        bool(said.get("met")) and not said.get("trouble"),
        ", ".join(said.get("trouble") or ())[:300],
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
    return Proof(found.name, rows, tuple(faults))


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
        tuple(_faults(found, namespace, was, now)),
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


def _faults(found: Case, namespace: str, was: Report, now: Report) -> Iterator[str]:
    for whose, one in (("v1", was), ("the TrainJob", now)):
        if not one.met:
            yield f"as part of {whose} it did not find all others{': ' if one.trouble else ''}{one.trouble}"
    if was.code != now.code:
        yield f"exit code {_code(was)} became {_code(now)}"
    if len(was.slots) != len(now.slots) or _slots(was) != _slots(now):
        yield f"hostfile {was.slots} became {now.slots}"
    for name, value in was.variables.items():
        wanted = _normal(_translated(found, namespace, name, value, was, now))
        given = now.variables.get(name)
        if name in _OWN or (given is None and name in found.held):
            continue
        if name == "PET_NPROC_PER_NODE" and not value.isdecimal():
            continue  # it is chosen by the resources, as is told when it is converted
        if _normal(given) != wanted:
            yield f"{name} {value!r} became {given!r}"


def _slots(one: Report) -> list[str]:
    return [line.partition(" ")[2] for line in one.slots]


def _translated(found: Case, namespace: str, name: str, value: str, was: Report, now: Report) -> str:
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
    if name == "PET_RDZV_ENDPOINT" and found.topology.is_single and not _is_chosen(found.job):
        return f"{found.new_host(found.members[0])}:{PORT}"  # node 0's, as is told when it is converted
    port = str(found.topology.parts[0].port)
    if (
        found.topology.is_single
        and found.family.kind in ("PyTorchJob", "XGBoostJob", "JAXJob")
        and name != "WORKER_PORT"
    ):
        value = str(PORT) if value == port else value.replace(f":{port}", f":{PORT}")
    return value


def _is_chosen(job: Object) -> bool:
    """Does the job say where its nodes meet?"""
    return any(dig(job, "spec", "elasticPolicy", name) is not None for name in ("rdzvHost", "rdzvPort"))


def _normal(value: str | None) -> JSON:
    if value and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
