"""volumeClaimPolicies: claims made for the JobSet, and the volumes by which its pods use them."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.controllers.jobset.ownership import owner_of
from trainshed.kinds.jobset import labels
from trainshed.kinds.jobset.claims import claim_name
from trainshed.kinds.reading import entries, mapping
from trainshed.kube.objects import Object, copied, text


def names(jobset: Object) -> list[str]:
    return [claim_name(jobset, text(template, "metadata", "name")) for _, template in _templates(jobset)]


def of(jobset: Object) -> Iterator[Object]:
    for policy, template in _templates(jobset):
        meta = mapping(template, "metadata")
        kept = {"annotations": copied(meta["annotations"])} if meta.get("annotations") else {}
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": claim_name(jobset, text(meta, "name")),
                "namespace": jobset["metadata"]["namespace"],
                "labels": mapping(meta, "labels") | {labels.JOBSET_NAME: jobset["metadata"]["name"]},
                **kept,
            },
            "spec": copied(mapping(template, "spec")),
        }
        # What is to be retained must not have an owner: it would go with it.
        if text(policy, "retentionPolicy", "whenDeleted") != "Retain":
            claim["metadata"]["ownerReferences"] = [owner_of(jobset)]
        yield claim


def volumes(jobset: Object, pod: Object) -> list[Object]:
    """The volumes a pod needs for the claims its containers mount."""
    mounted = _mounted(pod)
    given = (text(template, "metadata", "name") for _, template in _templates(jobset))
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": claim_name(jobset, name)}}
        for name in given
        if name in mounted
    ]


def _templates(jobset: Object) -> Iterator[tuple[Object, Object]]:
    for policy in entries(jobset, "spec", "volumeClaimPolicies"):
        for template in entries(policy, "templates"):
            yield policy, template


def _mounted(pod: Object) -> set[str]:
    containers = entries(pod, "containers") + entries(pod, "initContainers")
    return {text(mount, "name") for container in containers for mount in entries(container, "volumeMounts")}
