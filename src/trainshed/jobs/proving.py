"""Running a job as it was and as it is after conversion, to compare what its pods see."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from trainshed.client.client import Client
from trainshed.client.failures import Failure, UnknownKind
from trainshed.client.requests import LogOptions, Where
from trainshed.controllers.v1jobs import naming
from trainshed.jobs import jobkinds
from trainshed.jobs.converting import cases, proofs
from trainshed.jobs.converting.cases import Case
from trainshed.jobs.converting.proofs import Proof, Report, Run
from trainshed.jobs.jobkinds import TRAINJOB, JobKind
from trainshed.kinds.reading import entries
from trainshed.kinds.trainer import templates
from trainshed.kube import faults
from trainshed.kube.objects import Object, text

SECONDS: Final = 270.0
"""So long may one run take."""
_PATIENCE: Final = 20.0
"""So long may a job take to notice that its pods have ended."""
_LAST_SECONDS: Final = 5.0
"""So long may pods take to end when their job has; some are removed and do not."""
_AT_ONCE: Final = 4
_CODE: Final = 3
_ENDS: Final = {"Succeeded": "Succeeded", "Complete": "Succeeded", "Failed": "Failed"}


@asynccontextmanager
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace that is gone, with everything in it, when the work is done."""
    name = f"prove-{secrets.token_hex(3)}"
    wanted: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    making = asyncio.create_task(client.create(wanted))
    try:
        await asyncio.shield(making)
        yield name
    finally:  # whoever gives up while it is made does not know whether it is there
        with contextlib.suppress(faults.NotFound):
            await making
            await client.delete("namespaces", name)


async def prove_all(
    client: Client, every: Sequence[Case], say: Callable[[str], None], show: Callable[[Proof], None]
) -> list[Proof]:
    """A few at a time, each in a namespace of its own; shown in their order, as soon as they are there."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(case: Case) -> Proof:
        async with turns:
            return await _tried(client, case, say)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(case)) for case in every]
            for task in tasks:
                show(await task)
    except* (faults.Fault, Failure) as refused:
        raise refused.exceptions[0] from None
    return [task.result() for task in tasks]


async def _tried(client: Client, case: Case, say: Callable[[str], None]) -> Proof:
    """What is wrong with one job keeps no other from its proof."""
    try:
        return await prove(client, case, say)
    except UnknownKind:
        version = text(case.job, "apiVersion")
        return Proof(case.name, (), skipped=f"{version} is converted, but not served here")
    except faults.Fault as fault:
        return Proof(case.name, (), (f"it could not be run: {fault}",))


async def prove(client: Client, case: Case, say: Callable[[str], None], seconds: float = SECONDS) -> Proof:
    """Run both and compare; where any failure ends the job, run both a second time to see them fail."""
    async with namespace(client) as place:
        old = await _run(client, case, [cases.before(case, place, 0)], place, say, seconds)
        new = await _run(client, case, cases.after(case, place, 0), place, say, seconds)
        found = proofs.compare(case, place, old, new)
        if not (found.holds and case.fails_at_once):
            return found
        old = await _run(client, case, [cases.before(case, place, _CODE)], place, say, seconds)
        new = await _run(client, case, cases.after(case, place, _CODE), place, say, seconds)
        return replace(found, faults=tuple(proofs.compare_failure(case, old, new, _CODE)))


async def _run(
    client: Client,
    case: Case,
    documents: Sequence[Object],
    place: str,
    say: Callable[[str], None],
    seconds: float,
) -> Run:
    job = documents[-1]
    kind = _kind(job)
    say(f"running {kind.kind} {text(job, 'metadata', 'name')}")
    for document in documents:
        await client.create(document, place)
    name = text(job, "metadata", "name")
    end = await _end(client, kind, name, place, len(case.members), seconds)
    found = Run(await _reports(client, case, kind, place), end)
    for document in reversed(documents):
        await _remove(client, document, place, seconds)
    return found


def _kind(job: Object) -> JobKind:
    return next(kind for kind in jobkinds.KINDS if kind.kind == job["kind"])


async def _end(client: Client, kind: JobKind, name: str, place: str, pods: int, seconds: float) -> str:
    """How the job ends. Not every job of v1 does when its pods have: one of those is not waited for long."""
    named, labelled = Where(fields=f"metadata.name={name}"), Where(labels=kind.selector(name))
    job = asyncio.create_task(_watched(client, kind.resource, place, named, _ends, seconds))
    over = asyncio.create_task(
        _watched(client, "pods", place, labelled, lambda found: _are_over(found, pods), seconds)
    )
    try:
        await asyncio.wait((job, over), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((job,), timeout=_PATIENCE)
        await asyncio.wait((over,), timeout=_LAST_SECONDS)
        return next(iter(_ends(job.result() if job.done() else [])), "not at all")
    finally:
        for task in (job, over):
            task.cancel()
        await asyncio.gather(job, over, return_exceptions=True)


def _are_over(pods: Sequence[Object], count: int) -> bool:
    return sum(text(pod, "status", "phase") in ("Succeeded", "Failed") for pod in pods) >= count


def _ends(jobs: Sequence[Object]) -> list[str]:
    """How jobs have ended; what was said last comes first."""
    said = [
        one for job in jobs for one in entries(job, "status", "conditions") if one.get("status") == "True"
    ]
    return [_ENDS[text(one, "type")] for one in reversed(said) if text(one, "type") in _ENDS]


async def _remove(client: Client, document: Object, place: str, seconds: float) -> None:
    """The next run may need the same names: wait until they are free."""
    kind, name = document["kind"], text(document, "metadata", "name")
    with contextlib.suppress(faults.NotFound):
        await client.delete(kind, name, place)
    await _watched(client, kind, place, Where(fields=f"metadata.name={name}"), _is_empty, seconds)
    for one in jobkinds.KINDS:
        if one.kind == kind:
            await _watched(client, "pods", place, Where(labels=one.selector(name)), _is_empty, seconds)


def _is_empty(objects: Sequence[Object]) -> bool:
    return not objects


async def _watched(
    client: Client,
    kind: str,
    place: str,
    where: Where,
    is_done: Callable[[Sequence[Object]], object],
    seconds: float,
) -> list[Object]:
    """The objects once they are as wanted, or as they are when the time is over."""
    found: dict[str, Object] = {}
    is_known = False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), client.watch(kind, place, where) as changes:
            async for change in changes:
                is_known = is_known or change.type == "SYNCED"
                if change.type == "DELETED":
                    found.pop(text(change.object, "metadata", "uid"), None)
                elif change.type != "SYNCED":
                    found[text(change.object, "metadata", "uid")] = change.object
                if is_known and is_done([*found.values()]):
                    break
    return [*found.values()]


# --- reports ------------------------------------------------------------------------------------------------


async def _reports(client: Client, case: Case, kind: JobKind, place: str) -> dict[str, Report]:
    """By the host each pod is known as."""
    name = text(case.job, "metadata", "name")
    pods = (await client.list("pods", place, Where(labels=kind.selector(name)))).items
    hosts = _hosts(case, kind, place)
    found = {}
    for pod in pods:
        host = hosts.get(_label(kind, pod))
        if host is not None:
            found[host] = await _report(client, pod, kind, place)
    return found


def _hosts(case: Case, kind: JobKind, place: str) -> dict[str, str]:
    if kind is TRAINJOB:
        return {(host := case.new_host(member)).partition(".")[0]: host for member in case.members}
    job = text(case.job, "metadata", "name")
    return {naming.member(case.family, job, *member): case.old_host(member, place) for member in case.members}


def _label(kind: JobKind, pod: Object) -> str:
    """What tells a pod from the others: its name, or its host name where the name is random."""
    return text(pod, "spec", "hostname") if kind is TRAINJOB else text(pod, "metadata", "name")


async def _report(client: Client, pod: Object, kind: JobKind, place: str) -> Report:
    containers = [text(container, "name") for container in entries(pod, "spec", "containers")]
    main = templates.NODE if templates.NODE in containers else containers[0]
    log = b""
    with contextlib.suppress(faults.Fault):
        async for piece in client.logs(text(pod, "metadata", "name"), place, LogOptions(container=main)):
            log += piece
    return proofs.report(log.decode(errors="replace"), proofs.exit_code(pod, main))
