"""Pods, Jobs and nodes for tests of the scheduler; and a scheduler without a server."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from trainshed.controllers.scheduler import placing, reasons
from trainshed.controllers.scheduler.ledger import Ledger
from trainshed.kinds.jobset.labels import ATTEMPT, JOBSET_NAME, JOBSET_UID
from trainshed.kube.objects import JSON, Object

NOW = "2026-11-15T12:00:00Z"
_count = itertools.count(1)


def a_node(name: str = "here", *, labels: JSON = None, taints: JSON = None, **room: str) -> Object:
    capacity = {"cpu": "4", "memory": "16Gi", "pods": "110", **_dotted(room)}
    return {
        "metadata": {"name": name, "uid": f"node-{name}", "labels": {"name": name, **(labels or {})}},
        "spec": {"taints": taints or []},
        "status": {"allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def a_pod(name: str, *, job: Object | None = None, **requests: str) -> Object:
    """`gpu` stands for nvidia.com/gpu."""
    number = next(_count)
    metadata: Object = {"name": name, "namespace": "default", "uid": f"pod-{name}-{number}"}
    metadata |= {"creationTimestamp": NOW, "labels": {}, "annotations": {}}
    if job is not None:
        template = job["spec"]["template"]["metadata"]
        metadata["labels"], metadata["annotations"] = dict(template["labels"]), dict(template["annotations"])
        owner = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
        metadata["ownerReferences"] = [{**owner, **{key: job["metadata"][key] for key in ("name", "uid")}}]
    container = {"name": "main", "resources": {"requests": _dotted(requests)}}
    return {"metadata": metadata, "spec": {"containers": [container]}, "status": {"phase": "Pending"}}


def a_job(name: str, pods: int = 1, *, jobset: str = "", indexed: bool = True) -> Object:
    labels: Object = {}
    if jobset:
        labels = {JOBSET_NAME: jobset, JOBSET_UID: f"jobset-{jobset}", ATTEMPT: "0"}
    spec: Object = {"parallelism": pods, "completions": pods}
    spec["template"] = {"metadata": {"labels": labels, "annotations": {}}}
    spec["completionMode"] = "Indexed" if indexed else "NonIndexed"
    metadata = {"name": name, "namespace": "default", "uid": f"job-{name}", "labels": labels}
    return {"metadata": {**metadata, "creationTimestamp": NOW}, "spec": spec, "status": {}}


def a_jobset(name: str, *parts: Object, **spec: JSON) -> Object:
    """Of the parts that `a_part` makes."""
    metadata = {"name": name, "namespace": "default", "uid": f"jobset-{name}", "creationTimestamp": NOW}
    return {"metadata": metadata, "spec": {"replicatedJobs": [*parts], **spec}}


def a_part(name: str, pods: int = 1, *, after: dict[str, str] | None = None, **requests: str) -> Object:
    """A replicated job; `after` has the status others must have before it is made."""
    waits = [{"name": other, "status": status} for other, status in (after or {}).items()]
    container = {"name": "main", "resources": {"requests": _dotted(requests)}}
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed"}
    template = {"spec": {**spec, "template": {"spec": {"containers": [container]}}}}
    return {"name": name, "replicas": 1, "dependsOn": waits, "template": template}


def made_of(jobset: Object, part: str) -> list[Object]:
    """The Job of a part, and its pods."""
    name, template = jobset["metadata"]["name"], _template(jobset, part)
    count, job = template["spec"]["parallelism"], a_job(f"{name}-{part}-0", 1, jobset=name)
    job["spec"] |= {"parallelism": count, "completions": count}
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "controller": True}
    job["metadata"]["ownerReferences"] = [{**owner, "name": name, "uid": jobset["metadata"]["uid"]}]
    pods = [a_pod(f"{name}-{part}-{at}", job=job) for at in range(count)]
    for pod in pods:
        pod["spec"] = template["spec"]["template"]["spec"]
    return [job, *pods]


def _template(jobset: Object, part: str) -> Object:
    found = (one["template"] for one in jobset["spec"]["replicatedJobs"] if one["name"] == part)
    template: Object = next(found)
    return template


def _dotted(amounts: dict[str, str]) -> dict[str, str]:
    return {("nvidia.com/gpu" if name == "gpu" else name): amount for name, amount in amounts.items()}


@dataclass
class Desk:
    """The scheduler's decisions, with a server's part played by hand."""

    ledger: Ledger = field(default_factory=Ledger)
    pods: dict[str, Object] = field(default_factory=dict)
    head: str = ""

    def nodes(self, *found: Object) -> Desk:
        for node in found:
            self.ledger.node(None, node)
        return self

    def add(self, *objects: Object) -> Desk:
        for obj in objects:
            if "completionMode" in obj["spec"]:
                self.ledger.job(None, obj)
            elif "replicatedJobs" in obj["spec"]:
                self.ledger.jobset(None, obj)
            else:
                self.pods[obj["metadata"]["name"]] = obj
                self.ledger.pod(None, obj)
        return self

    def finish(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.ledger.pod(pod, {**pod, "status": {"phase": "Succeeded"}})

    def run(self) -> dict[str, str]:
        """One pass; the nodes of the pods it placed, and the server's confirmation of it."""
        ledger = self.ledger
        line, _ = ledger.ready()
        made = placing.decide((gang.candidate(ledger.count) for gang in line), ledger.board, ledger.stamps)
        waiting = {*made.blocked, *made.behind}
        for gang in line:
            if gang.key in waiting:
                gang.begin_waiting(ledger.count)
        ledger.assume(made.spots)
        self.head = made.head.name if made.head else ""
        pods = [spot for spot in made.spots if not spot.need.promised_by]
        for spot in pods:
            self._confirm(spot.need.name, spot.node)
        return {spot.need.name: spot.node for spot in pods}

    def why(self, name: str) -> str:
        """The words for a pod that waits."""
        ledger = self.ledger
        uid = self.pods[name]["metadata"]["uid"]
        gang = next(gang for gang in ledger.gangs.values() if uid in gang.waiting)
        if obstacle := gang.obstacle():
            whole = gang.whole()
            never = reasons.never(whole, ledger.board) if whole else None
            return (never or reasons.incomplete(obstacle)).words
        return reasons.why(gang.candidate(ledger.count), ledger.board, None).words

    def _confirm(self, name: str, node: str) -> None:
        before = self.pods[name]
        after = {**before, "spec": {**before["spec"], "nodeName": node}}
        self.pods[name] = after
        self.ledger.pod(before, after)

    def free(self, node: str = "here") -> dict[str, int]:
        return self.ledger.board.rooms[node].free
