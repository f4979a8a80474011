"""What a pod requests as a whole, however its amounts are written; pure.

The rule is the scheduler's everywhere: containers and sidecars run together; each init container runs beside
the sidecars before it; the larger of both counts. A pod's overhead comes on top.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from trainshed.kinds.reading import entries
from trainshed.kube.objects import Object, text

A = TypeVar("A")
Join = Callable[[A, A], A]
"""Makes new amounts of two; neither is changed."""


def of_pod(spec: Object, nothing: A, of: Callable[[Object], A], add: Join[A], larger: Join[A]) -> A:
    """All that the containers of a pod need; `of` reads one container."""
    running = sidecars = starting = nothing
    for container in entries(spec, "containers"):
        running = add(running, of(container))
    for container in entries(spec, "initContainers"):
        beside = add(sidecars, of(container))
        if text(container, "restartPolicy") == "Always":
            sidecars = beside
        starting = larger(starting, beside)
    return larger(add(running, sidecars), starting)
