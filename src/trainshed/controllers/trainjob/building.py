"""Makes what a TrainJob needs: the snapshot of its runtime, objects for its plugins, the JobSet."""

from __future__ import annotations

from typing import Final

from trainshed.client.failures import UnknownKind
from trainshed.client.requests import Write
from trainshed.controllers.trainjob import desired, snapshot, sshkeys
from trainshed.controllers.trainjob.refusals import CREATION_FAILED, TOO_MANY, Refusal
from trainshed.kinds.reading import entries, is_true
from trainshed.kinds.trainer import trainjobs
from trainshed.kube import owners
from trainshed.kube.faults import AlreadyExists
from trainshed.kube.objects import Object, text
from trainshed.loop.keys import Key
from trainshed.loop.outcome import Temporary
from trainshed.loop.world import World

TRAINJOBS: Final = "trainjobs.trainer.kubeflow.org"
RUNTIMES: Final = "trainingruntimes.trainer.kubeflow.org"
CLUSTER_RUNTIMES: Final = "clustertrainingruntimes.trainer.kubeflow.org"
JOBSETS: Final = "jobsets.jobset.x-k8s.io"
MANAGER: Final = Write(manager="trainer")
SOON: Final = 0.2


class Missing(Exception):
    """Something the job needs is not there (yet); the job waits for it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


async def build(job: Object, jobset: Object | None, world: World) -> tuple[Object, Object]:
    """The JobSet as it is on the server now, and the runtime it was made of."""
    runtime = await runtime_of(job, world, is_new=jobset is None)
    made = desired.wanted(job, runtime)
    if jobset is None and not entries(made.jobset, "spec", "replicatedJobs"):
        name = text(job, "spec", "runtimeRef", "name")
        raise Refusal(CREATION_FAILED, f'runtime "{name}" has no replicatedJobs: there is nothing to run')
    if jobset is None and (found := desired.flaws(made.jobset)):
        raise Refusal(CREATION_FAILED, f"the pods of this TrainJob would be refused: {'; '.join(found)}")
    if jobset is None and (count := desired.pods(made.jobset)) > desired.MOST_PODS:
        raise Refusal(
            TOO_MANY, f"asks for {count} pods; lower its numNodes, {desired.MOST_PODS} pods at most"
        )
    for obj in made.objects:
        await _put_beside(obj, job, world)
    return await world.apply(made.jobset, force=True, write=MANAGER), runtime


async def _put_beside(obj: Object, job: Object, world: World) -> None:
    if desired.is_ssh_secret(obj):
        await _create_once({**obj, "stringData": sshkeys.generated()}, world)
    elif obj["kind"] == "PodGroup":
        await _put_pod_group(obj, job, world)
    else:
        await world.apply(obj, force=True, write=MANAGER)


async def _create_once(obj: Object, world: World) -> None:
    try:
        await world.create(obj, write=MANAGER)
    except AlreadyExists:
        return


async def _put_pod_group(obj: Object, job: Object, world: World) -> None:
    """Where the server has the kind at all. A group that exists is left alone while its job runs."""
    try:
        if is_true(job, "spec", "suspend"):
            await world.apply(obj, force=True, write=MANAGER)
        else:
            await _create_once(obj, world)
    except UnknownKind:
        return


# --- the runtime ------------------------------------------------------------------------------------------


async def runtime_of(job: Object, world: World, *, is_new: bool) -> Object:
    """The runtime the job began with: its snapshot, made now if there is none."""
    if not is_new and (kept := await _kept(job, world)) is not None:
        return kept
    live = live_runtime(job, world)
    if live is None:
        return await _kept(job, world) or _missing(job)
    try:
        await world.create(snapshot.make(job, live), write=MANAGER)
    except AlreadyExists:
        return await _kept(job, world) or live
    return live


async def _kept(job: Object, world: World) -> Object | None:
    name, namespace = snapshot.name_of(job), job["metadata"]["namespace"]
    found = await world.client.find("configmaps", name, namespace)
    if found is None:
        return None
    if is_of_a_namesake(found, job):
        raise Temporary(f'ConfigMap "{name}" of an earlier TrainJob is still being removed', after=SOON)
    return snapshot.read(found, job)


def live_runtime(job: Object, world: World) -> Object | None:
    name = text(job, "spec", "runtimeRef", "name")
    if text(job, "spec", "runtimeRef", "kind") == trainjobs.CLUSTER_RUNTIME:
        return world.cache(CLUSTER_RUNTIMES).get(Key("", name))
    return world.cache(RUNTIMES).get(Key(job["metadata"]["namespace"], name))


def _missing(job: Object) -> Object:
    kind, name = text(job, "spec", "runtimeRef", "kind"), text(job, "spec", "runtimeRef", "name")
    raise Missing("RuntimeNotFound", f'{kind} "{name}" does not exist')


def is_of_a_namesake(obj: Object, job: Object) -> bool:
    """Whether an object belongs to a TrainJob of the same name that was deleted before."""
    owner = owners.controller_of(obj) or {}
    meta = job["metadata"]
    same = owner.get("kind") == "TrainJob" and owner.get("name") == meta["name"]
    return same and owner.get("uid") != meta["uid"]
