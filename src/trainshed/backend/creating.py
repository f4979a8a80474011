"""From what a caller wants to a TrainJob on the server: namespace, system ConfigMap, code, job, in order.

Every step is made as the caller, so Kubernetes decides what they may. A step that is refused undoes what this
request made; a process that is killed in the middle leaves marks by which the janitor does the same.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from trainshed.backend import basing
from trainshed.backend.caller import Caller
from trainshed.backend.idempotency import Claim, Claims, Key
from trainshed.backend.making import TRAINJOBS, Making, Taken
from trainshed.backend.marks import mark_of
from trainshed.backend.numbers import Numbers
from trainshed.backend.plane import Plane
from trainshed.backend.problems import Problem
from trainshed.backend.rendering import naming, trainjob
from trainshed.backend.rendering.wanted import Wanted
from trainshed.backend.settings import Settings
from trainshed.backend.systemmaps import SystemMaps
from trainshed.client.failures import Failure
from trainshed.jobs import dialects
from trainshed.jobs.dialects import Dialect, unknown_fields
from trainshed.kube import faults
from trainshed.kube.objects import Object

SECONDS = 30.0
"""A submission that takes longer is given up, well before the janitor takes it for an orphan."""
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Creator:
    """Makes jobs; one for the whole service."""

    plane: Plane
    settings: Settings
    numbers: Numbers
    systems: SystemMaps
    learn: Callable[[Object], None]
    """Told of each job at once, so that whoever makes one finds it in the next list."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def create(self, caller: Caller, wanted: Wanted, key: Key | None = None) -> Object:
        """The TrainJob as the server has it. Raises `Problem` or `Fault`; then nothing of it is left."""
        namespace = wanted.namespace or caller.namespace
        try:
            async with asyncio.timeout(SECONDS):
                wanted = await basing.based(caller.client, wanted, namespace)
                job = await self._submit(caller, wanted, namespace, key)
        except faults.Fault as refused:
            raise await self._explained(caller, wanted, namespace, refused) from refused
        except TimeoutError as late:
            hint = "try again; with an idempotency_key no job is made twice"
            raise Problem(504, f"the job was not made in {SECONDS:.0f} seconds", hint=hint) from late
        self.learn(job)
        return job

    async def _submit(self, caller: Caller, wanted: Wanted, namespace: str, key: Key | None) -> Object:
        """In the words the cluster knows; once more, should it know others since it was asked."""
        submission = _Submission(self, caller, wanted, namespace, await self.plane.dialect())
        try:
            return await submission.run(key)
        except faults.BadRequest as refused:
            if not unknown_fields(refused):
                raise
            other = await self.plane.other_dialect(submission.dialect)
            if other is None:
                raise
        return await replace(submission, dialect=other).run(key)

    async def _explained(
        self, caller: Caller, wanted: Wanted, namespace: str, refused: faults.Fault
    ) -> Exception:
        """A refusal in terms of the job that was asked for, where it can be told in them."""
        if fields := unknown_fields(refused):
            return Problem(503, dialects.lacking(fields), hint=dialects.UPGRADE)
        known = faults.Forbidden | faults.Invalid | faults.NotFound
        if not isinstance(refused, known) or faults.is_unserved(refused):
            return refused
        if faults.in_leaving_namespace(refused):
            why, hint = f"the namespace {namespace} is being deleted", "try again when it is gone"
            return Problem(409, why, field="namespace", hint=hint)
        if _is_by_role(refused):
            why = f'you may not create training jobs in namespace "{namespace}": {refused.message}'
            return Problem(403, why, field="namespace", hint="GET /api/whoami tells your own namespace")
        try:
            await basing.runtime(caller.client, wanted.runtime_kind, wanted.runtime, namespace)
        except Problem as missing:
            return missing
        except (faults.Fault, Failure):
            return refused
        return refused


Given = list[tuple[datetime, int]]
"""Seconds and numbers of names."""


def _noted(one: tuple[datetime, int], given: Given) -> tuple[datetime, int]:
    given.append(one)
    return one


def _is_by_role(refused: faults.Fault) -> bool:
    """Whether the caller may not take a step at all; webhooks and quotas refuse what it contains."""
    return isinstance(refused, faults.Forbidden) and 'is forbidden: User "' in refused.message


@dataclass(frozen=True, slots=True)
class _Submission:
    creator: Creator
    caller: Caller
    wanted: Wanted
    namespace: str
    dialect: Dialect

    async def run(self, key: Key | None) -> Object:
        """A missing namespace shows when something is put there: that costs nothing where there is one."""
        try:
            return await self._made(key)
        except faults.NotFound as missing:
            if missing.kind != "namespaces":
                raise
            await self._make_namespace(missing)
        return await self._made(key)

    async def _made(self, key: Key | None) -> Object:
        system = trainjob.system(self.wanted)
        if system is not None:
            await self.creator.systems.ensure(self.caller.client, system, self.namespace)
        return await (self._once() if key is None else self._keyed(key))

    async def _make_namespace(self, missing: faults.NotFound) -> None:
        hint = "make the namespace first, or have the administrator make it"
        if not self.creator.settings.create_namespaces:
            raise Problem(404, missing.message, field="namespace", hint=hint) from missing
        meta = {"name": self.namespace, "labels": {"app.kubernetes.io/managed-by": "trainshed"}}
        try:
            await self.caller.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        except faults.AlreadyExists:
            return
        except faults.Forbidden as refused:
            raise Problem(404, missing.message, field="namespace", hint=hint) from refused

    # --- without a key: a new job each time ---

    async def _once(self) -> Object:
        mark, given = secrets.token_hex(8), Given()
        for name in self._names(given):
            try:
                return await self._making(mark).make(trainjob.render(self.wanted, name, self.dialect))
            except Taken as taken:
                await self._require_another_name(taken)
            except faults.Fault:
                self._give_back(given)
                raise
        raise AssertionError("names do not run out")

    # --- with a key: the same job each time ---

    async def _keyed(self, key: Key) -> Object:
        claims = Claims(self.caller.client, self.namespace, self.creator.now)
        mark, given = secrets.token_hex(8), Given()
        for name in itertools.islice(self._names(given), _TRIES):
            claim = await self._claim(claims, key, mark, name, given)
            try:
                found = await (self._claimed(claims, claim) if claim.is_pending else self._found(claim))
            except Taken as taken:
                await self._require_another_name(taken)
                continue
            if found is not None:
                return found
            await claims.release(claim)  # its job was deleted, so the key is free again
        raise Problem(503, "no free name was found for the job", hint="try again in a moment")

    async def _claim(self, claims: Claims, key: Key, mark: str, name: str, given: Given) -> Claim:
        """The claim of the key; whoever comes later needs no name of their own."""
        try:
            claim = await claims.take(key, mark, name)
        except BaseException:
            self._give_back(given)
            raise
        if claim.mark != mark:
            self._give_back(given)
        return claim

    async def _claimed(self, claims: Claims, claim: Claim) -> Object | None:
        """The job; None where another one who was at it has failed and has taken everything back."""
        making = Making(self.caller.client, self.namespace, claim.mark, is_shared=True)
        rendered = trainjob.render(self.wanted, claim.job, self.dialect)
        job = await making.make(rendered, may_undo=lambda: claims.release(claim))
        if await making.give(claim.name, claim.uid, job):
            return job
        await making.undo()
        return None

    async def _found(self, claim: Claim) -> Object | None:
        """The job of a claim that was made before."""
        found = await self.caller.client.find(TRAINJOBS, claim.job, self.namespace)
        return found if mark_of(found) == claim.mark else None

    # --- names ---

    def _making(self, mark: str) -> Making:
        return Making(self.caller.client, self.namespace, mark)

    def _names(self, given: Given) -> Iterator[str]:
        """Names to try; the numbers in them are put into `given`."""
        if self.wanted.name:
            return itertools.repeat(self.wanted.name)
        user = self.wanted.user
        numbers = self.creator.numbers.of(self.namespace, user, self.creator.now())
        return (naming.job_name(user, *_noted(one, given)) for one in numbers)

    def _give_back(self, given: Given) -> None:
        """Nothing bears the last name."""
        for second, number in given[-1:]:
            self.creator.numbers.give_back(self.namespace, self.wanted.user, second, number)

    async def _require_another_name(self, taken: Taken) -> None:
        name = self.wanted.name
        if not name:
            return
        job = await self.caller.client.find(TRAINJOBS, name, self.namespace)
        why = f'there is already a job "{name}"' if job is not None else str(taken)
        raise Problem(409, why, field="name", hint="choose another name, or none") from taken
