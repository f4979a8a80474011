"""Defaults of Deployment, ReplicaSet, StatefulSet and DaemonSet. Nothing here runs them."""

from __future__ import annotations

from collections.abc import Callable

from trainshed.kinds.canonical import tidy
from trainshed.kinds.core import claims, podspecs
from trainshed.kinds.kind import Rules
from trainshed.kinds.reading import child, entries, fill
from trainshed.kube.objects import Object


def deployment(spec: Object) -> None:
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = child(spec, "strategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(child(strategy, "rollingUpdate"), maxUnavailable="25%", maxSurge="25%")


def replica_set(spec: Object) -> None:
    fill(spec, replicas=1)


def daemon_set(spec: Object) -> None:
    fill(spec, revisionHistoryLimit=10)
    strategy = child(spec, "updateStrategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(child(strategy, "rollingUpdate"), maxUnavailable=1, maxSurge=0)


def stateful_set(spec: Object) -> None:
    fill(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = child(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        child(strategy, "rollingUpdate")
    if isinstance(strategy.get("rollingUpdate"), dict):
        fill(strategy["rollingUpdate"], partition=0)
    fill(child(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")
    for claim in entries(spec, "volumeClaimTemplates"):
        claims.defaults(claim)
        fill(child(claim, "status"), phase="Pending")
        fill(claim, apiVersion="v1", kind="PersistentVolumeClaim")


def _rules(message: str, default: Callable[[Object], None]) -> Rules:
    def defaults(workload: Object) -> None:
        tidy(workload, message)
        spec = child(workload, "spec")
        podspecs.default_template(spec)
        default(spec)

    def prepare(workload: Object) -> None:
        workload["status"] = {}
        tidy(workload, message)

    return Rules(defaults=defaults, on_create=prepare)


RULES = {
    "deployments.apps": _rules("Deployment", deployment),
    "replicasets.apps": _rules("ReplicaSet", replica_set),
    "statefulsets.apps": _rules("StatefulSet", stateful_set),
    "daemonsets.apps": _rules("DaemonSet", daemon_set),
}
