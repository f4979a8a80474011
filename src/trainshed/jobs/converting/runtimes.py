"""A TrainingRuntime for one converted job: what TrainJobs have no words for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.jobs.converting.pods import Pod
from trainshed.jobs.converting.restarts import Restarts
from trainshed.jobs.converting.topology import Group
from trainshed.kinds.trainer import templates
from trainshed.kinds.trainer.runtime_parts import ANCESTOR, API_VERSION, FRAMEWORK
from trainshed.kinds.trainer.trainjobs import RUNTIME
from trainshed.kube.objects import Object, text

_DAEMON: Final = ("/usr/sbin/sshd", "-De")


@dataclass(frozen=True, slots=True)
class Crew:
    """A group with the pods and restarts it is to have."""

    group: Group
    pod: Pod
    restarts: Restarts


def runtime(metadata: Object, framework: str, policy: Object, template: Object, groups: Object) -> Object:
    """`groups` is the policy of PodGroups, `template` that of the JobSet."""
    spec: Object = {"mlPolicy": policy}
    if groups:
        spec["podGroupPolicy"] = groups
    spec["template"] = template
    labels = {**(metadata.get("labels") or {}), FRAMEWORK: framework}
    return {
        "apiVersion": API_VERSION,
        "kind": RUNTIME,
        "metadata": {**metadata, "labels": labels},
        "spec": spec,
    }


def template(jobs: Sequence[Object], deciding: Sequence[str], notes: Mapping[str, str]) -> Object:
    """Of the JobSet; `deciding` are the jobs whose end is its end."""
    spec: Object = {}
    if deciding:
        spec["successPolicy"] = {"operator": "All", "targetReplicatedJobs": list(deciding)}
    spec["replicatedJobs"] = list(jobs)
    return {"metadata": {"annotations": dict(notes)}, "spec": spec} if notes else {"spec": spec}


def replicated_job(crew: Crew, *, trains: bool, is_counted: bool) -> Object:
    """`trains` says that it stands for the training; `is_counted` that its size is said elsewhere."""
    group, job = crew.group, dict(crew.restarts.job)
    if not is_counted:
        pods = 1 if group.is_apart else group.count
        job = {"parallelism": pods, "completions": pods, **job}
    pod = {**crew.pod.template, "spec": {"restartPolicy": crew.restarts.pod_policy, **crew.pod.spec}}
    made: Object = {"name": group.name, "replicas": group.count if group.is_apart else 1}
    made["template"] = {"metadata": {"labels": {ANCESTOR: templates.TRAINER}}} if trains else {}
    made["template"]["spec"] = {**job, "template": pod}
    return made


def serve_ssh(pod: Pod) -> list[str]:
    """Make a pod one that a launcher can reach; the fields of the program that is not run for that."""
    given = {name: pod.main.get(name) for name in ("command", "args")}
    words = [str(word) for value in given.values() for word in value or ()]
    if words and words[0].rpartition("/")[2] == "sshd":
        return []
    pod.main.pop("args", None)
    pod.main["command"] = list(_DAEMON)
    return [name for name, value in given.items() if value]


def reference(runtime: Object) -> Object:
    return {"kind": RUNTIME, "name": text(runtime, "metadata", "name")}
