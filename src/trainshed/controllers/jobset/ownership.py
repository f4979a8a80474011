"""How a JobSet signs what it makes."""

from __future__ import annotations

from typing import Final

from trainshed.kube import owners
from trainshed.kube.objects import Object

GROUP: Final = "jobset.x-k8s.io"
KIND: Final = "JobSet"


def owner_of(jobset: Object) -> Object:
    typed = {"apiVersion": f"{GROUP}/v1alpha2", "kind": KIND}
    return owners.reference_to({**typed, **jobset})
