"""The headless Service of a JobSet, which gives its pods names in DNS."""

from __future__ import annotations

from trainshed.controllers.jobset.ownership import owner_of
from trainshed.kinds.jobset import labels, naming
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import Object


def is_wanted(jobset: Object) -> bool:
    return mapping(jobset, "spec", "network").get("enableDNSHostnames") is not False


def of(jobset: Object) -> Object:
    """Made when there is none of its name; one that is there is used as it is."""
    early = mapping(jobset, "spec", "network").get("publishNotReadyAddresses") is not False
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": naming.subdomain(jobset),
            "namespace": jobset["metadata"]["namespace"],
            "ownerReferences": [owner_of(jobset)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {labels.JOBSET_NAME: jobset["metadata"]["name"]},
            # Peers look each other up while they start, before any of them is ready.
            "publishNotReadyAddresses": early,
        },
    }
