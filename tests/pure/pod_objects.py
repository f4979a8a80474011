"""Pods of a JobSet in every state of distress."""

from __future__ import annotations

from trainshed.kube.objects import JSON, Object

THEN = "2026-01-01T00:00:05Z"


def a_jobset(pods: int = 2, restarts: int = 0, most: int | None = None, **status: JSON) -> Object:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    node = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"parallelism": pods}}}
    policy = {} if most is None else {"failurePolicy": {"maxRestarts": most}}
    return {
        "metadata": {"name": "t", "namespace": "n", "uid": "js"},
        "spec": {"replicatedJobs": [node], **policy},
        "status": {"restarts": restarts, **status},
    }


def a_pod(index: int = 0, *, job: str = "node", attempt: int = 0, uid: str = "", **more: JSON) -> Object:
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "t",
        "jobset.sigs.k8s.io/jobset-uid": "js",
        "jobset.sigs.k8s.io/replicatedjob-name": job,
        "jobset.sigs.k8s.io/restart-attempt": str(attempt),
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    spec = {"containers": [{"name": "node"}], "restartPolicy": "OnFailure", "nodeName": "here"}
    meta = {
        "name": f"t-{job}-0-{index}",
        "namespace": "n",
        "uid": uid or f"{job}{index}{attempt}",
        "labels": labels,
    }
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running"}, **more}


def ended(pod: Object, message: str = "", code: int = 1, *, at: str = THEN, **more: JSON) -> Object:
    """The pod with its container ended and about to start again."""
    state = {
        "terminated": {"exitCode": code, "message": message, "finishedAt": at, "reason": "Error", **more}
    }
    return with_status(pod, {"name": "node", "restartCount": 0, "state": state})


def restarted(pod: Object, message: str = "", code: int = 1, times: int = 1) -> Object:
    """The pod with its container running again."""
    last = {"terminated": {"exitCode": code, "message": message, "finishedAt": THEN}}
    status = {"name": "node", "restartCount": times, "state": {"running": {}}, "lastState": last}
    return with_status(pod, status)


def with_status(pod: Object, status: Object, group: str = "containerStatuses") -> Object:
    return {**pod, "status": {**pod["status"], group: [status]}}


def waiting(pod: Object, reason: str, message: str = "", restarts: int = 0) -> Object:
    state = {"waiting": {"reason": reason, "message": message}}
    found = with_status(pod, {"name": "node", "restartCount": restarts, "state": state})
    return {**found, "status": {**found["status"], "phase": "Pending"}}


def unplaced(pod: Object, why: str) -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {**pod, "spec": spec, "status": {"phase": "Pending", "conditions": [condition]}}
