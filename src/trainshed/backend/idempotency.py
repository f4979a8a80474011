"""Retries that are safe: the first request with a key leaves a claim, later ones find it and do the same.

A claim is an empty ConfigMap whose name comes from the key. It says which job the key means and what the body
was. Whoever comes second goes through the same steps with the same names and the same mark, so it does not
matter whether the first one is still at it, has ended, or was killed. Each touches the claim: only who
touched it last may take things back after a failure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from trainshed.backend import marks, settling
from trainshed.backend.problems import Problem
from trainshed.backend.systemmaps import CONFIGMAPS
from trainshed.client.client import Client
from trainshed.client.requests import Delete
from trainshed.kube import faults, names
from trainshed.kube.objects import JSON, Object, encode, text

DIGEST = "trainshed.dev/body-digest"
MANAGED = {"app.kubernetes.io/managed-by": "trainshed"}


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two requests the same: their sender, their key and their body."""

    name: str
    """Of the claim."""
    digest: str


def key_of(user: str, given: str, body: JSON) -> Key:
    who = hashlib.sha256(encode([user, given])).hexdigest()[:40]
    return Key(f"submission-{who}", hashlib.sha256(encode(body)).hexdigest()[:40])


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    job: str
    mark: str
    uid: str
    revision: str
    is_pending: bool


@dataclass(frozen=True, slots=True)
class Claims:
    client: Client
    namespace: str
    now: Callable[[], datetime]

    async def take(self, key: Key, mark: str, job: str) -> Claim:
        """The claim of the key: a new one for a job of that name, or the one that is there.

        Raises 409 for another body.
        """
        async for _ in settling.tries():
            try:
                return claim_of(await self.client.create(body(key, job, mark), self.namespace))
            except faults.AlreadyExists:
                found = await self._joined(key)
            if found is not None:
                return found
        raise Problem(503, "the same key is used by too many at this moment", hint="try again in a moment")

    async def _joined(self, key: Key) -> Claim | None:
        """The claim that is there, touched; None where it has just gone."""
        try:
            found = await self.client.get(CONFIGMAPS, key.name, self.namespace)
            if text(found, "metadata", "annotations", DIGEST) != key.digest:
                raise Problem(
                    409,
                    "idempotency_key: it was used for another request",
                    field="idempotency_key",
                    hint="use a new key for a new job",
                )
            _require_own(found)
            if marks.is_pending(found):
                revision = text(found, "metadata", "resourceVersion")
                change = marks.touched(self.now(), revision)
                found = await self.client.patch(CONFIGMAPS, key.name, change, self.namespace)
            return claim_of(found)
        except (faults.NotFound, faults.Conflict):
            return None

    async def release(self, claim: Claim) -> bool:
        """Give the claim up; False where somebody else is at work on it now."""
        only = Delete(uid=claim.uid, revision=claim.revision)
        return await _done(self.client.delete(CONFIGMAPS, claim.name, self.namespace, only))


async def _done(work: Awaitable[Object]) -> bool:
    try:
        await work
    except (faults.Conflict, faults.NotFound):
        return False
    return True


def body(key: Key, job: str, mark: str) -> Object:
    meta: Object = {
        "name": key.name,
        "labels": {**MANAGED, marks.CODE_OF: job},
        "annotations": {DIGEST: key.digest},
    }
    claim: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return marks.pending(marks.marked(claim, mark))


def _require_own(found: Object) -> None:
    """Whoever may make ConfigMaps may have made this one, and then it leads nowhere. Raises 409."""
    claim = claim_of(found)
    if names.dns_subdomain(claim.job) or not claim.mark:
        raise Problem(
            409,
            f'idempotency_key: the ConfigMap "{claim.name}" of that key names no job',
            field="idempotency_key",
            hint="delete that ConfigMap, or use a new key",
        )


def claim_of(obj: Object) -> Claim:
    return Claim(
        name=marks.name_of(obj),
        job=text(obj, "metadata", "labels", marks.CODE_OF),
        mark=marks.mark_of(obj),
        uid=text(obj, "metadata", "uid"),
        revision=text(obj, "metadata", "resourceVersion"),
        is_pending=marks.is_pending(obj),
    )
