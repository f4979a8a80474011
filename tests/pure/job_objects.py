"""Jobs and their pods as the Job controller sees them; one line each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count

from tests.pure.samples import created
from trainshed.controllers.job import specs, tally, verdict
from trainshed.controllers.job.backoff import Pace
from trainshed.controllers.job.observed import Observed
from trainshed.controllers.job.specs import INDEX, INDEX_FAILURES, TRACKING
from trainshed.controllers.job.tally import Tally
from trainshed.controllers.job.verdict import Verdict
from trainshed.kube import owners
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import JSON, Object

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
_numbers = count(1)


def a_job(status: Object | None = None, restart: str = "Never", **spec: JSON) -> Object:
    """A Job as the server stores it, with its defaults."""
    template = {"spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "i"}]}}
    job: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team", "uid": "job-uid"},
        "spec": {"template": template, **spec},
    }
    return {**created("jobs.batch", job), "status": status or {}}


def an_indexed_job(completions: int = 2, status: Object | None = None, **spec: JSON) -> Object:
    numbers = {"completionMode": "Indexed", "completions": completions, "parallelism": completions}
    return a_job(status, **{**numbers, **spec})


def a_pod(job: Object, phase: str = "Running", **facts: JSON) -> Object:
    """A pod of the Job. Facts: index, uid, tracked, leaving, ready, restarts, exit, ended, failures, node."""
    uid = facts.get("uid") or f"pod-{next(_numbers)}"
    meta: Object = {
        "name": f"train-{uid}",
        "namespace": "team",
        "uid": uid,
        "labels": {**job["spec"]["template"]["metadata"]["labels"]},
        "annotations": _annotations(facts),
        "creationTimestamp": ago(facts.get("age", 60)),
        "ownerReferences": [owners.reference_to(job)],
    }
    if facts.get("tracked", True):
        meta["finalizers"] = [TRACKING]
    if facts.get("leaving"):
        meta |= {"deletionTimestamp": ago(facts.get("ended", 0)), "deletionGracePeriodSeconds": 0}
    spec = {"nodeName": facts["node"]} if facts.get("node") else {}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": _status(phase, facts)
    }  # fmt: skip


def ago(seconds: float) -> str:
    return timestamp(NOW - timedelta(seconds=seconds))


def _annotations(facts: dict[str, JSON]) -> Object:
    found: Object = {}
    if facts.get("index") is not None:
        found[INDEX] = str(facts["index"])
    if facts.get("failures") is not None:
        found[INDEX_FAILURES] = str(facts["failures"])
    return found


def _status(phase: str, facts: dict[str, JSON]) -> Object:
    container: Object = {"name": "main", "restartCount": facts.get("restarts", 0), "state": {}}
    if phase in ("Succeeded", "Failed"):
        code = facts.get("exit", 0 if phase == "Succeeded" else 1)
        container["state"] = {"terminated": {"exitCode": code, "finishedAt": ago(facts.get("ended", 0))}}
    ready = {"type": "Ready", "status": "True" if facts.get("ready") else "Unknown"}
    conditions = [ready, *facts.get("conditions", ())]
    return {"phase": phase, "containerStatuses": [container], "conditions": conditions}


# --- looking ----------------------------------------------------------------------------------------------


def seen(job: Object, pods: Iterable[Object] = (), now: datetime = NOW) -> Observed:
    return Observed(job, specs.read(job), tuple(pods), now, Pace(first=10.0, longest=600.0))


def counted(job: Object, pods: Iterable[Object] = ()) -> Tally:
    return tally.count(seen(job, pods))


def judged(job: Object, pods: Iterable[Object] = ()) -> Verdict | None:
    found = seen(job, pods)
    return verdict.judge(found, tally.count(found))
