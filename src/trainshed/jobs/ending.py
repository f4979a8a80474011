"""Which training jobs lose pods when everything stops; pure."""

from __future__ import annotations

from collections.abc import Iterable

from trainshed.controllers.v1jobs import naming
from trainshed.jobs.jobkinds import TRAINJOB, V1
from trainshed.jobs.summary import JOBSET_NAME
from trainshed.kube.objects import Object, dig, text

_OVER = ("Succeeded", "Failed")
_MOST = 5
_OPERATORS = {kind.family.operator: kind for kind in V1 if kind.family}


def with_pods(pods: Iterable[Object]) -> list[str]:
    """What to call the jobs whose pods have a node and have not ended."""
    live = (pod for pod in pods if dig(pod, "spec", "nodeName") and text(pod, "status", "phase") not in _OVER)
    return sorted({address for pod in live if (address := _job(pod))})


def shortened(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _job(pod: Object) -> str:
    space = text(pod, "metadata", "namespace")
    name = _name(dig(pod, "metadata", "labels") or {})
    return f"{name} in {space}" if name and space != "default" else name


def _name(labels: Object) -> str:
    if name := labels.get(JOBSET_NAME, ""):
        return TRAINJOB.address(name)
    kind, name = _OPERATORS.get(labels.get(naming.OPERATOR, "")), labels.get(naming.JOB, "")
    return kind.address(name) if kind and name else ""
