"""Removes the folders of claims that were deleted, once no pod uses them."""

from __future__ import annotations

import asyncio
import logging

from trainshed.kinds.reading import entries
from trainshed.kube.objects import Object, text
from trainshed.loop.cache import Cache
from trainshed.runner import pod_status
from trainshed.runner.volumes.claimed import Claimed, ClaimFolders

log = logging.getLogger(__name__)


def uses(pod: Object, claim: str) -> bool:
    """Whether a pod may still write to the claim of this name in its namespace."""
    volumes = entries(pod, "spec", "volumes")
    names = {text(volume, "persistentVolumeClaim", "claimName") for volume in volumes}
    return claim in names and not pod_status.is_final(pod)


class Reclaiming:
    def __init__(self, folders: ClaimFolders, pods: Cache) -> None:
        self.folders, self._pods = folders, pods
        self._outlived: list[Claimed] = []
        self._news = asyncio.Event()

    def is_in_use(self, namespace: str, claim: str, but_by: str = "") -> bool:
        pods = (pod for pod in self._pods.list(namespace) if text(pod, "metadata", "uid") != but_by)
        return any(uses(pod, claim) for pod in pods)

    def see(self, before: Object | None, after: Object | None) -> None:
        """A claim came, changed or went."""
        if after is not None:
            self.folders.learn(after)
        if before is not None and text(before, "metadata", "uid") != text(after, "metadata", "uid"):
            found = self.folders.of(before)
            self._outlived += [found] if found is not None else []
            self._news.set()

    def see_pod(self, before: Object | None, after: Object | None) -> None:
        if self._outlived:
            self._news.set()

    async def run(self, claims: Cache) -> None:
        """From when all claims and pods are known."""
        await asyncio.to_thread(self.folders.sweep)
        self._outlived += self.folders.outlived({text(one, "metadata", "uid") for one in claims.list()})
        while True:
            free = [one for one in self._outlived if not self.is_in_use(one.namespace, one.name)]
            self._outlived = [one for one in self._outlived if one not in free]
            for one in free:
                await self._remove(one)
            await self._news.wait()
            self._news.clear()

    async def _remove(self, one: Claimed) -> None:
        what = "is kept" if one.note.keep else "is removed"
        log.info("claim %s/%s was deleted: its data %s", one.namespace, one.name, what)
        try:
            await asyncio.to_thread(self.folders.remove, one)
        except OSError as why:
            log.warning("data of claim %s/%s is not removed: %s", one.namespace, one.name, why)
