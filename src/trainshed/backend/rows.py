"""What lists, streams and the history know of a job and its pods: the few fields they show; pure."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern
from typing import Literal, NamedTuple

import msgspec

from trainshed.jobs import summary
from trainshed.kinds.jobset.labels import JOBSET_UID
from trainshed.kinds.trainer.templates import LAUNCHER, NODE
from trainshed.kube import ages, conditions
from trainshed.kube.objects import Object, dig, text
from trainshed.kube.owners import controller_of

USER = "trainshed.dev/user"
FRAMEWORK = "trainshed.dev/framework"
State = Literal["Running", "Complete", "Failed"]
"""All a caller of the contract is told; `phase` says it finer."""


class Order(NamedTuple):
    """Newest first; what is as old goes by uid, so that every job has one place and keeps it."""

    age: int
    uid: str


class Row(msgspec.Struct, frozen=True):
    """A TrainJob in a list."""

    uid: str
    namespace: str
    name: str
    state: State
    phase: str
    message: str
    framework: str
    user_id: str
    runtime: str
    nodes: int
    created: str
    finished: str
    labels: dict[str, str]
    revision: str
    is_leaving: bool = False
    namespace_uid: str = ""
    """As far as it is known: only the history asks."""

    @property
    def order(self) -> Order:
        created = ages.parse_timestamp(self.created)
        return Order(-int(created.timestamp()) if created else 0, self.uid)

    @property
    def is_finished(self) -> bool:
        return self.phase in summary.FINAL


class ContainerRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One container as its pod's status has it."""

    name: str
    is_init: bool
    run: int
    """How often it had been started before."""
    state: str
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    started: str = ""
    finished: str = ""
    previous_exit_code: int | None = None
    has_previous: bool = False


class PodRow(msgspec.Struct, frozen=True, omit_defaults=True):
    uid: str
    namespace: str
    name: str
    job: str
    jobset_uid: str
    role: str
    rank: int
    attempt: int
    node: str
    phase: str
    reason: str
    message: str
    created: str
    containers: tuple[ContainerRow, ...]
    is_gone: bool = False

    @property
    def restarts(self) -> int:
        return sum(container.run for container in self.containers)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs or will run."""
        return self.is_gone or self.phase in ("Succeeded", "Failed")


class JobSetRow(msgspec.Struct, frozen=True):
    uid: str
    job_uid: str
    restarts: int
    peers: int | None = None
    """How many nodes a launcher has beside it; None where nobody launches."""


def row(job: Object) -> Row:
    found = summary.summarize(job)
    labels = dig(job, "metadata", "labels") or {}
    phase = "Running" if found.state == "Pending" and _has_begun(job) else found.state
    return Row(
        uid=text(job, "metadata", "uid"),
        namespace=found.namespace,
        name=found.name,
        state=contract_state(phase),
        phase=phase,
        message=found.verdict,
        framework=intern(str(labels.get(FRAMEWORK) or "")),
        user_id=intern(str(labels.get(USER) or "")),
        runtime=intern(found.runtime),
        nodes=found.nodes,
        created=text(job, "metadata", "creationTimestamp"),
        finished=finished_at(job),
        labels={intern(str(key)): intern(str(value)) for key, value in labels.items()},
        revision=text(job, "metadata", "resourceVersion"),
        is_leaving=bool(text(job, "metadata", "deletionTimestamp")),
    )


def contract_state(phase: str) -> State:
    return "Complete" if phase == "Complete" else "Failed" if phase == "Failed" else "Running"


def finished_at(job: Object) -> str:
    for wanted in summary.FINAL:
        found = conditions.find(dig(job, "status", "conditions"), wanted)
        if found is not None and found.get("status") == "True":
            return str(found.get("lastTransitionTime") or "")
    return ""


def _has_begun(job: Object) -> bool:
    """Pods that have ended are not ready any more, but their job has not gone back to waiting."""
    counts = dig(job, "status", "jobsStatus") or []
    return any(int(entry.get(word) or 0) for entry in counts for word in ("succeeded", "failed"))


def jobset_row(jobset: Object) -> JobSetRow:
    owner = controller_of(jobset) or {}
    uid = str(owner.get("uid") or "") if owner.get("kind") == "TrainJob" else ""
    restarts = int(dig(jobset, "status", "restarts") or 0)
    return JobSetRow(text(jobset, "metadata", "uid"), uid, restarts, _peers(jobset))


def _peers(jobset: Object) -> int | None:
    jobs = {text(job, "name"): job for job in dig(jobset, "spec", "replicatedJobs") or []}
    if not {LAUNCHER, NODE} <= set(jobs):
        return None
    return int(dig(jobs[NODE], "template", "spec", "parallelism") or 1)


def pod_row(pod: Object) -> PodRow:
    return PodRow(
        uid=text(pod, "metadata", "uid"),
        namespace=text(pod, "metadata", "namespace"),
        name=text(pod, "metadata", "name"),
        job=text(pod, "metadata", "labels", summary.JOBSET_NAME),
        jobset_uid=text(pod, "metadata", "labels", JOBSET_UID),
        role=summary.role_of(pod),
        rank=summary.rank_of(pod),
        attempt=summary.attempt_of(pod),
        node=text(pod, "spec", "nodeName"),
        phase=text(pod, "status", "phase") or "Pending",
        reason=text(pod, "status", "reason"),
        message=text(pod, "status", "message"),
        created=text(pod, "metadata", "creationTimestamp"),
        containers=tuple(_containers(pod)),
    )


def _containers(pod: Object) -> Iterator[ContainerRow]:
    for part in ("initContainerStatuses", "containerStatuses"):
        for status in dig(pod, "status", part) or []:
            yield _container(status, is_init=part.startswith("init"))


def _container(status: Object, *, is_init: bool) -> ContainerRow:
    state = next(iter(status.get("state") or {}), "waiting")
    now = dig(status, "state", state) or {}
    before = dig(status, "lastState", "terminated")
    code, old = now.get("exitCode"), dig(before, "exitCode")
    return ContainerRow(
        name=text(status, "name"),
        is_init=is_init,
        run=int(status.get("restartCount") or 0),
        state=state,
        reason=text(now, "reason"),
        message=text(now, "message"),
        exit_code=code if isinstance(code, int) else None,
        started=text(now, "startedAt"),
        finished=text(now, "finishedAt"),
        previous_exit_code=old if isinstance(old, int) else None,
        has_previous=before is not None,
    )


def numbered(pods: list[PodRow], *, joins: bool) -> list[PodRow]:
    """Where a launcher joins the nodes it is the first of them, and the others are counted behind it."""
    return [_behind(pod) if joins and pod.role == NODE else pod for pod in pods]


def _behind(pod: PodRow) -> PodRow:
    return msgspec.structs.replace(pod, rank=pod.rank + 1)


def in_order(pods: list[PodRow]) -> list[PodRow]:
    return sorted(pods, key=lambda pod: (pod.attempt, pod.role, pod.rank, pod.created, pod.uid))
