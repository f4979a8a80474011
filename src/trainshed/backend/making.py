"""The objects of one job, made one after the other as the caller; all of them or none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from trainshed.backend import marks, settling
from trainshed.backend.basing import RUNTIMES
from trainshed.backend.rendering.trainjob import Rendered
from trainshed.backend.systemmaps import CONFIGMAPS
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import Delete, Resource
from trainshed.jobs.spoken import STRICT
from trainshed.kube import faults
from trainshed.kube.objects import Object, text

log = logging.getLogger(__name__)

TRAINJOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", namespaced=True)
UNDO_SECONDS = 10.0

MayUndo = Callable[[], Awaitable[bool]]


class Taken(Exception):
    """Something else has the name already."""


async def always() -> bool:
    return True


@dataclass(slots=True)
class Making:
    client: Client
    namespace: str
    mark: str
    is_shared: bool = False
    """Whether another request may be at the same submission."""
    tried: list[tuple[Resource, str]] = field(default_factory=list)
    """What may be there by now because of us, in order."""

    async def make(self, rendered: Rendered, may_undo: MayUndo = always) -> Object:
        """The TrainJob as the server has it. Raises `Taken` or what refused a step, the rest undone."""
        code: Object | None = None
        try:
            if rendered.code is not None:
                code = await self._create(CONFIGMAPS, marks.pending(rendered.code))
                if rendered.runtime is not None:
                    await self._create(RUNTIMES, marks.belonging(rendered.runtime, code))
            job = await self._create(TRAINJOBS, rendered.trainjob)
            if code is not None:
                await self.give(marks.name_of(code), text(code, "metadata", "uid"), job)
            return job
        except BaseException:
            await self._take_back(may_undo)
            raise

    async def give(self, config_map: str, uid: str, job: Object) -> bool:
        """Let a ConfigMap go with the job; False where it has gone, or is another one, already."""
        try:
            await self.client.patch(CONFIGMAPS, config_map, marks.owned_by(job, uid), self.namespace)
        except (faults.NotFound, faults.Conflict):
            return False
        return True

    async def undo(self) -> None:
        """Remove what bears our mark."""
        for resource, name in reversed(self.tried):
            await self._remove(resource, name)

    async def _take_back(self, may_undo: MayUndo) -> None:
        """What cannot be removed now is left to the janitor."""
        try:
            async with asyncio.timeout(UNDO_SECONDS):
                if await may_undo():
                    await self.undo()
        except (faults.Fault, Failure, TimeoutError) as trouble:
            log.warning("a failed submission was not wholly undone: %s", trouble)

    async def _create(self, resource: Resource, obj: Object) -> Object:
        name = marks.name_of(obj)
        try:
            made = await self.client.create(marks.marked(obj, self.mark), self.namespace, STRICT)
        except faults.AlreadyExists as exists:
            return await self._ours(resource, name, exists)
        except faults.Fault as refused:
            if refused.code >= 500:  # it may have been made all the same
                self.tried.append((resource, name))
            raise
        except BaseException:
            self.tried.append((resource, name))
            raise
        self.tried.append((resource, name))
        return made

    async def _ours(self, resource: Resource, name: str, exists: faults.AlreadyExists) -> Object:
        """The object of that name where another attempt at the same submission made it. Raises `Taken`."""
        async for _ in settling.tries():
            found = await self.client.find(resource, name, self.namespace)
            if found is not None and marks.mark_of(found) == self.mark:
                self.tried.append((resource, name))
                return found
            if found is not None or not self.is_shared:
                break
        raise Taken(exists.message) from exists

    async def _remove(self, resource: Resource, name: str) -> None:
        found = await self.client.find(resource, name, self.namespace)
        if found is None or marks.mark_of(found) != self.mark:
            return
        only = Delete(propagation="Background", uid=text(found, "metadata", "uid"))
        try:
            await self.client.delete(resource, name, self.namespace, only)
        except (faults.NotFound, faults.Conflict):
            log.debug("%s was removed by somebody else", name)
