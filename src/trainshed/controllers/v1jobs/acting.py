"""Making, marking and deleting what belongs to a job; what was done, and what went wrong, is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from trainshed.client.failures import Disconnected, Failure, TimedOut
from trainshed.client.requests import Delete
from trainshed.controllers.v1jobs import mpi, naming
from trainshed.controllers.v1jobs.plan import Mark
from trainshed.kinds.kubeflow.families import MPI, Family
from trainshed.kube import owners
from trainshed.kube.faults import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Fault,
    Forbidden,
    Invalid,
    NotFound,
    Timeout,
    in_leaving_namespace,
)
from trainshed.kube.objects import Object, text
from trainshed.kube.owners import controller_of
from trainshed.loop.keys import Key
from trainshed.loop.outcome import Temporary
from trainshed.loop.world import World

REFUSALS: Final = (BadRequest, Forbidden, Invalid)
"""What the server answers to what can be put right by changing the job, or somebody's rights."""
_PLURALS: Final = {"Pod": "pods", "Service": "services"}
_KEPT: Final = ("data", "rules", "roleRef", "subjects")
"""What is brought up to date in objects that pods stand on."""


async def create(family: Family, job: Object, obj: Object, world: World) -> None:
    """A pod or service; one of its name that is the job's own will do."""
    kind, name = obj["kind"], obj["metadata"]["name"]
    try:
        await world.create(obj)
    except AlreadyExists as taken:
        found = await world.client.find(_PLURALS[kind], name, obj["metadata"]["namespace"])
        if found is not None and owners.is_controlled_by(found, job):
            return  # an answer was lost on its way; the watch will tell
        if family is MPI and found is not None:
            raise _conflict(job, mpi.conflict(job, found, kind), world) from taken
        _refused(family, job, obj, taken, world)
        raise Temporary(str(taken)) from taken
    except (Timeout, TimedOut, Disconnected) as late:
        # It may be there all the same. The watch tells of it; should it not, the next look makes it.
        raise Temporary(f"{kind.lower()} {name} may be there or not: {late}") from late
    except (Fault, Failure) as trouble:
        _refused(family, job, obj, trouble, world)
        raise
    world.event(job, "Normal", *_made(family, obj))


async def delete(job: Object, obj: Object, world: World) -> None:
    """Should another object have taken the name, that one stays."""
    kind, meta = obj["kind"], obj["metadata"]
    try:
        await world.delete(_PLURALS[kind], meta["name"], meta["namespace"], Delete(uid=meta["uid"]))
    except (NotFound, Conflict):
        return
    except (Fault, Failure) as trouble:
        world.event(job, "Warning", f"FailedDelete{kind}", f"Error deleting: {trouble}")
        raise
    world.event(job, "Normal", f"SuccessfulDelete{kind}", f"Deleted {kind.lower()}: {meta['name']}")


async def mark(job: Object, found: Mark, world: World) -> None:
    meta = found.pod["metadata"]
    with suppress(NotFound), world.telling(job):
        await world.patch(
            "pods", meta["name"], {"metadata": {"annotations": found.annotations}}, meta["namespace"]
        )


async def ensure(job: Object, ground: Sequence[Object], world: World) -> None:
    """Make what pods stand on, or bring it up to date; nothing at all while any of it is somebody else's."""
    found = [await _standing(job, wanted, world) for wanted in ground]
    for wanted, there in zip(ground, found, strict=True):
        with _telling(job, wanted, world):
            if there is None:
                await world.create(wanted)
            else:
                await _update(wanted, there, world)


async def limit(job: Object, role: Object, world: World) -> None:
    """Bring rights up to date if they were given; those of somebody else stay as they are."""
    with _telling(job, role, world):
        found = await _find(role, world)
        if found is not None and not mpi.conflict(job, found, role["kind"]):
            await _update(role, found, world)


def claim(job: Object, names: Iterable[str], world: World) -> None:
    """Refuse to go on while a pod of one of these names is somebody else's."""
    pods, namespace = world.cache("pods"), job["metadata"]["namespace"]
    for name in names:
        found = pods.get(Key(namespace, name))
        if found is None or _is_left_over(found, job, MPI.kind):
            continue
        if words := mpi.conflict(job, found, "Pod"):
            raise _conflict(job, words, world)


async def _standing(job: Object, wanted: Object, world: World) -> Object | None:
    with _telling(job, wanted, world):
        found = await _find(wanted, world)
    if found is not None and _is_left_over(found, job, MPI.kind):
        # Its own end is near: an account that is used all the same would be taken from under the launcher.
        what = f'{wanted["kind"]} "{wanted["metadata"]["name"]}"'
        raise Temporary(f"{what} of the earlier job of this name is still there")
    if found is not None and (words := mpi.conflict(job, found, wanted["kind"])):
        raise _conflict(job, words, world)
    return found


@contextmanager
def _telling(job: Object, wanted: Object, world: World) -> Iterator[None]:
    """What the server refuses of the ground, as for pods: without it none can be made."""
    try:
        yield
    except REFUSALS as refusal:
        _refused(MPI, job, wanted, refusal, world)
        raise


async def _find(wanted: Object, world: World) -> Object | None:
    meta, resource = wanted["metadata"], await world.client.resource_of(wanted)
    return await world.client.find(resource, meta["name"], meta["namespace"])


async def _update(wanted: Object, found: Object, world: World) -> None:
    changes = {part: wanted[part] for part in _KEPT if part in wanted and wanted[part] != found.get(part)}
    if changes:
        meta, resource = wanted["metadata"], await world.client.resource_of(wanted)
        await world.patch(resource, meta["name"], changes, meta["namespace"])


def _conflict(job: Object, words: str, world: World) -> Temporary:
    world.event(job, "Warning", mpi.CONFLICT, words)
    return Temporary(words)


def is_free(job: Object, obj: Object, world: World) -> bool:
    """Is the name free? What an earlier job of the same name has left is on its way out; its end is news."""
    kind, meta = obj["kind"], obj["metadata"]
    found = world.cache(_PLURALS[kind]).get(Key(meta["namespace"], meta["name"]))
    return found is None or not _is_left_over(found, job, meta["ownerReferences"][0]["kind"])


def _is_left_over(found: Object, job: Object, kind: str) -> bool:
    """Does it belong to an earlier job of the same kind and name?"""
    owner, meta = controller_of(found), job["metadata"]
    if owner is None or owner.get("uid") == meta["uid"]:
        return False
    return bool(owner.get("name") == meta["name"] and owner.get("kind") == kind)


def _made(family: Family, obj: Object) -> tuple[str, str]:
    kind, name = obj["kind"], obj["metadata"]["name"]
    if _is_launcher(family, obj):
        return f"{family.kind}Running", f"launcher pod created success: {name}"
    what = "worker pod" if family is MPI else kind.lower()
    return f"SuccessfulCreate{kind}", f"Created {what}: {name}"


def _refused(family: Family, job: Object, obj: Object, why: Exception, world: World) -> None:
    if in_leaving_namespace(why):
        return
    if _is_launcher(family, obj):
        world.event(job, "Warning", f"{family.kind}Failed", f"launcher pod created failed: {why}")
    else:
        world.event(job, "Warning", f"FailedCreate{obj['kind']}", f"Error creating: {why}")


def _is_launcher(family: Family, obj: Object) -> bool:
    return family is MPI and text(obj, "metadata", "labels", naming.TYPE) == "launcher"
