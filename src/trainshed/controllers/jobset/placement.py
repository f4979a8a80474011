"""Exclusive placement: each Job has one domain of nodes (rack, node pool, …) to itself.

Upstream's pod webhook gives the first pod of a Job affinities and lets the others follow it by nodeSelector,
refusing them until it is scheduled. Here all pods of the Job carry the affinities, in the Job's template: the
same placement, and a gang can be scheduled at once. Jobs of different priority do not share a domain either
(upstream lets them, so that one can push the other out).
"""

from __future__ import annotations

from trainshed.kinds.jobset import labels
from trainshed.kinds.reading import mapping, sequence
from trainshed.kube.objects import Object, text


def asked_for(jobset: Object, template: Object) -> dict[str, str]:
    """What the JobSet and, over it, the replicated job's template ask for."""
    found: dict[str, str] = {}
    for obj in (jobset, template):
        given = mapping(obj, "metadata", "annotations")
        if labels.EXCLUSIVE in given:
            keys = (labels.EXCLUSIVE, labels.NODE_SELECTOR)
            found |= {key: given[key] for key in keys if key in given}
    return found


def place(job: Object) -> None:
    """Set what the Job's annotations ask for in its pod template."""
    asked, pod = mapping(job, "metadata", "annotations"), job["spec"]["template"]["spec"]
    if labels.EXCLUSIVE not in asked:
        return
    if labels.NODE_SELECTOR in asked:
        _select_labelled_nodes(job["metadata"], pod)
    else:
        key = text(job, "metadata", "labels", labels.JOB_KEY)
        _keep_together(pod, key, asked[labels.EXCLUSIVE])


def _select_labelled_nodes(meta: Object, pod: Object) -> None:
    # A label value cannot hold a slash.
    name = f"{meta['namespace']}_{meta['name']}"
    tolerated = {"key": labels.NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}
    pod["nodeSelector"] = mapping(pod, "nodeSelector") | {labels.NAMESPACED_JOB: name}
    pod["tolerations"] = [*sequence(pod, "tolerations"), tolerated]


def _keep_together(pod: Object, key: str, topology: str) -> None:
    own = [{"key": labels.JOB_KEY, "operator": "In", "values": [key]}]
    others = [
        {"key": labels.JOB_KEY, "operator": "Exists"},
        {"key": labels.JOB_KEY, "operator": "NotIn", "values": [key]},
    ]
    affinity = mapping(pod, "affinity")
    for kind, expressions in (("podAffinity", own), ("podAntiAffinity", others)):
        term = {
            "labelSelector": {"matchExpressions": expressions},
            "topologyKey": topology,
            "namespaceSelector": {},
        }
        rules = mapping(affinity, kind)
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        affinity = {**affinity, kind: {**rules, required: [*sequence(rules, required), term]}}
    pod["affinity"] = affinity
