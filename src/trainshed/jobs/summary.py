"""What a training job is doing, in one word and one line, from it and what it owns; pure."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from trainshed.jobs import restarts, v1states
from trainshed.kinds.kubeflow.families import FAMILIES
from trainshed.kube import ages, conditions
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, dig, text

State = Literal["Pending", "Waiting", "Running", "Restarting", "Suspended", "Complete", "Failed"]
TRAINJOBS = "trainjobs.trainer.kubeflow.org"
"""The kind, as clients are asked for it."""
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
INDEX = "batch.kubernetes.io/job-completion-index"
FINAL: tuple[State, ...] = ("Complete", "Failed")
_OTHERS_WORDS = re.compile(
    r"^(?:jobset failed due to [^(:]*\(first failed job: [^()]*\): |\w+ \S+ [^.:]*\. First failure: )(?=\S)"
)
"""What a JobSet, or a v1 job, says before it tells what began it."""
_END = re.compile(
    r"^[^:,]+(?:, container \S+,)?"
    r" (?:exited (?P<code>\d+)|was killed by signal (?P<signal>\d+)|(?P<memory>ran out of memory))\b"
)
"""How a verdict begins that tells of a program's end; what initializers did is nobody's exit code."""
_MANAGERS = ("", "trainer.kubeflow.org/trainjob-controller")
_V1 = {family.kind: family for family in FAMILIES}
_V1_VERSION = "kubeflow.org/v1"
_CLAIMED: tuple[State, ...] = (*FINAL, "Suspended", "Restarting", "Waiting")


@dataclass(frozen=True, slots=True)
class Summary:
    name: str
    namespace: str
    state: State
    message: str
    runtime: str
    nodes: int
    restarts: int
    created: datetime | None
    finished: datetime | None
    kind: str = "TrainJob"

    @property
    def is_finished(self) -> bool:
        return self.state in FINAL

    @property
    def verdict(self) -> str:
        """The message, without the controllers' own words where it goes on to say what began it."""
        return _OTHERS_WORDS.sub("", self.message, count=1)

    @property
    def exit_code(self) -> int:
        """What a shell would say of the program whose end decided; 1 for a failure of another kind."""
        if self.state != "Failed":
            return 0
        found = _END.match(self.verdict)
        if found is None:
            return 1
        if found["memory"]:
            return 128 + signal.SIGKILL
        code = int(found["code"] or 0) or 128 + int(found["signal"] or 0)
        return code if 0 < code < 256 else 1


def summarize(
    job: Object, jobset: Object | None = None, pods: Sequence[Object] = (), jobs: Sequence[Object] = ()
) -> Summary:
    """What is known of a job, from it and from whatever of its belongings is given."""
    if job.get("apiVersion") == _V1_VERSION:
        return _summarize_v1(job, pods)
    state, message = _leaving(job, *_state(job, pods))
    return Summary(
        name=text(job, "metadata", "name"),
        namespace=text(job, "metadata", "namespace"),
        state=state,
        message=message,
        runtime=text(job, "spec", "runtimeRef", "name"),
        nodes=_nodes(job, jobset),
        restarts=restarts.total(jobset, jobs, pods),
        created=ages.parse_timestamp(text(job, "metadata", "creationTimestamp")),
        finished=_finished(job),
    )


def _summarize_v1(job: Object, pods: Sequence[Object]) -> Summary:
    family = _V1[text(job, "kind")]
    state, message = _leaving(job, *v1states.state(family, job, pods))
    return Summary(
        name=text(job, "metadata", "name"),
        namespace=text(job, "metadata", "namespace"),
        state=state,
        message=message,
        runtime=_V1_VERSION,
        nodes=v1states.nodes(family, job),
        restarts=v1states.restarted(family, job, pods),
        created=ages.parse_timestamp(text(job, "metadata", "creationTimestamp")),
        finished=v1states.finished(job),
        kind=text(job, "kind"),
    )


def rank_of(pod: Object) -> int:
    """The index of a pod in its job; 0 where it has none."""
    index = text(pod, "metadata", "labels", INDEX) or text(pod, "metadata", "annotations", INDEX)
    return whole(index) or 0


def role_of(pod: Object) -> str:
    """The replicated job a pod belongs to: `node`, `launcher`, `dataset-initializer`."""
    return text(pod, "metadata", "labels", REPLICATED_JOB) or "node"


def attempt_of(pod: Object) -> int:
    attempt = text(pod, "metadata", "labels", ATTEMPT)
    return whole(attempt) or 0


def in_order(pods: Iterable[Object]) -> list[Object]:
    return sorted(pods, key=lambda pod: (attempt_of(pod), role_of(pod), rank_of(pod)))


# --- the state ----------------------------------------------------------------------------------------------


def _state(job: Object, pods: Sequence[Object]) -> tuple[State, str]:
    for wanted in _CLAIMED:
        found = conditions.find(dig(job, "status", "conditions"), wanted)
        if found is not None and found.get("status") == "True":
            return wanted, str(found.get("message") or "")
    running = [pod for pod in pods if text(pod, "status", "phase") == "Running"]
    if running:
        return "Running", f"{len(running)} of {len(pods)} pods running"
    if any(int(entry.get("ready") or 0) for entry in dig(job, "status", "jobsStatus") or []):
        return "Running", ""
    manager = text(job, "spec", "managedBy")
    return "Pending", f"managed by {manager}, not by Trainshed" if manager not in _MANAGERS else ""


def _leaving(job: Object, state: State, message: str) -> tuple[State, str]:
    """What a job does no longer counts when it is about to go; how it ended still does."""
    is_leaving = state not in FINAL and bool(text(job, "metadata", "deletionTimestamp"))
    return state, "being deleted" if is_leaving else message


def _nodes(job: Object, jobset: Object | None) -> int:
    asked = dig(job, "spec", "trainer", "numNodes")
    if isinstance(asked, int):
        return asked
    for replicated in dig(jobset, "spec", "replicatedJobs") or []:
        if replicated.get("name") == "node":
            return int(dig(replicated, "template", "spec", "parallelism") or 1)
    return 1


def _finished(job: Object) -> datetime | None:
    for wanted in FINAL:
        found = conditions.find(dig(job, "status", "conditions"), wanted)
        if found is not None and found.get("status") == "True":
            return ages.parse_timestamp(str(found.get("lastTransitionTime") or ""))
    return None
