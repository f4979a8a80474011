"""What the status of a leaving namespace says about what is left in it, condition by condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainshed.kinds.reading import sequence
from trainshed.kube import conditions
from trainshed.kube.objects import Object

_DONE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}
"""In upstream's order, with reason and message while there is nothing to tell."""


def told(status: Object, left: Mapping[str, int], finalizers: Mapping[str, int], now: str) -> list[Object]:
    """All conditions, given how many objects of which kind are left, and how many hold which finalizer.

    Kinds are spelled `pods.` and `jobs.batch`.
    """
    kinds = ", ".join(f"{kind} has {count} resource instances" for kind, count in sorted(left.items()))
    holders = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
    news = {
        "NamespaceContentRemaining": ("SomeResourcesRemain", "Some resources are remaining: ", kinds),
        "NamespaceFinalizersRemaining": (
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: ",
            holders,
        ),
    }
    listed: list[Object] = sequence(status, "conditions")
    for type, (reason, message) in _DONE.items():
        wanted = {"type": type, "status": "False", "reason": reason, "message": message}
        if type in news and news[type][2]:
            wanted |= {"status": "True", "reason": news[type][0], "message": "".join(news[type][1:])}
        listed = conditions.put(listed, wanted, now)
    return listed
