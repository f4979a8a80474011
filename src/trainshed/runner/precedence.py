"""The first pod of a job goes ahead of the others.

All ranks look for the first one as soon as they can. PyTorch's client of the store there, once refused, tries
again only a quarter to three quarters of a second later: that is what a job loses whose second rank was ready
a millisecond before its first.
"""

from __future__ import annotations

import asyncio
import contextlib

from trainshed.kinds.reading import mapping
from trainshed.kube.objects import Object, text
from trainshed.runner import pod_status

_INDEX = "batch.kubernetes.io/job-completion-index"
_JOB = "batch.kubernetes.io/controller-uid"
_AHEAD_SECONDS = 0.02
"""How much later the others start: importing the same libraries takes no two processes the same time."""
_PATIENCE_SECONDS = 0.1
"""How long the others wait in all: the first one may have more to do before, or wait for them."""


class Precedence:
    def __init__(self) -> None:
        self._firsts: dict[str, asyncio.Event] = {}
        """By job: whether its first pod, which is here and not over, runs."""

    def see(self, pod: Object) -> None:
        """A pod is bound here, or has changed."""
        if not _is_first(pod):
            return
        if pod_status.is_final(pod):
            self.lose(pod)
            return
        first = self._firsts.setdefault(_job(pod), asyncio.Event())
        if text(pod, "status", "phase") == "Running":  # also one that a former agent has started
            first.set()

    def lose(self, pod: Object) -> None:
        """It is over or gone: nobody has to wait for it."""
        if _is_first(pod) and (first := self._firsts.pop(_job(pod), None)):
            first.set()

    def begun(self, pod: Object) -> None:
        """A container of the pod runs."""
        if _is_first(pod) and (first := self._firsts.get(_job(pod))):
            first.set()

    async def turn(self, pod: Object) -> None:
        """Return when the pod may start its containers: at once, unless the first one is just about to."""
        first = None if _is_first(pod) else self._firsts.get(_job(pod))
        if first is None or first.is_set():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await first.wait()
                await asyncio.sleep(_AHEAD_SECONDS)


def _is_first(pod: Object) -> bool:
    return bool(_job(pod)) and text(mapping(pod, "metadata", "annotations"), _INDEX) == "0"


def _job(pod: Object) -> str:
    return text(mapping(pod, "metadata", "labels"), _JOB)
