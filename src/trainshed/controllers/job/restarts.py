"""backoffLimit: how many failures a Job survives, counted in pods and, with OnFailure, in restarts."""

from __future__ import annotations

from collections.abc import Iterable

from trainshed.controllers.job import pods
from trainshed.kube.objects import Object


def exceed(limit: int, observed: Iterable[Object]) -> bool:
    """Whether the containers of living pods restarted as often as pods may fail; once is too often for 0.

    So with the default limit of 6 the sixth restart ends the Job, where the seventh failed pod would.
    """
    total = sum(
        status.get("restartCount") or 0
        for pod in observed
        if pods.phase(pod) in ("Running", "Pending")
        for status in pods.statuses(pod)
    )
    return total >= max(limit, 1)
