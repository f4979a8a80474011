"""How the pods of one type of replica stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trainshed.controllers.v1jobs import podphases
from trainshed.kinds.kubeflow.families import MPI, Family
from trainshed.kube.objects import Object, text


@dataclass(frozen=True, slots=True)
class Count:
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    """Ended badly, or deleted while they ran."""
    removed: int = 0
    """How many of the failed were deleted before they had: their programs did nothing wrong."""
    culprits: tuple[str, ...] = ()
    """The uids of the failed ones."""

    @property
    def crashed(self) -> int:
        return self.failed - self.removed

    def stated(self) -> Object:
        """As the status has it: zeros are left out."""
        given = {"active": self.active, "succeeded": self.succeeded, "failed": self.failed}
        return {name: number for name, number in given.items() if number}


def count(family: Family, pods: Iterable[Object]) -> Count:
    uids: dict[str, list[str]] = {}
    for pod in pods:
        uids.setdefault(_standing(family, pod), []).append(text(pod, "metadata", "uid"))
    removed = uids.get("removed", [])
    failed = sorted((*uids.get("failed", []), *removed))
    active, succeeded = (len(uids.get(standing, ())) for standing in ("active", "succeeded"))
    return Count(active, succeeded, len(failed), len(removed), (*failed,))


def _standing(family: Family, pod: Object) -> str:
    match podphases.phase(pod):
        case "Running":
            # A node that is lost never reports the end of its pods; MPIJobs look at the phase alone.
            return "removed" if podphases.is_leaving(pod) and family is not MPI else "active"
        case "Succeeded":
            return "succeeded"
        case "Failed":
            # Who crashes is judged before anybody deletes it: what was deleted first was killed by that.
            return "removed" if podphases.is_leaving(pod) else "failed"
    return ""
