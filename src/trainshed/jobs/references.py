"""Which job somebody means: a TrainJob's name, or a kind and a name, or a name only one kind has."""

from __future__ import annotations

from dataclasses import dataclass

from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.jobs import jobkinds
from trainshed.jobs.jobkinds import TRAINJOB, V1, JobKind
from trainshed.kube import faults
from trainshed.kube.objects import Object


class Ambiguous(Exception):
    """Several kinds have a job of that name; the message says how to tell them apart."""


class OnlyKind(Exception):
    """A kind was named and no job."""

    def __init__(self, kind: JobKind) -> None:
        super().__init__(f"{kind.kind} is a kind, not a job")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Reference:
    kind: JobKind
    name: str

    @property
    def address(self) -> str:
        return self.kind.address(self.name)

    @property
    def pods(self) -> Where:
        return Where(labels=self.kind.selector(self.name))

    async def get(self, client: Client) -> Object:
        return await client.get(self.kind.resource, self.name, client.namespace)


async def resolve(client: Client, words: str) -> Reference:
    """What is meant; a TrainJob where there is no such job at all.

    Raises `ValueError`, `Ambiguous` and `OnlyKind`.
    """
    kind, name = jobkinds.read(words)
    if kind is not None:
        return Reference(kind, name)
    if await client.find(TRAINJOB.resource, name, client.namespace) is not None:
        return Reference(TRAINJOB, name)
    there = [Reference(kind, name) for kind in await served(client) if await _has(client, kind, name)]
    if len(there) > 1:
        raise Ambiguous(f'there are several jobs "{name}": {", ".join(one.address for one in there)}')
    if not there and (kind := jobkinds.called(name)) is not None:
        raise OnlyKind(kind)
    return there[0] if there else Reference(TRAINJOB, name)


async def listed(client: Client, kind: JobKind, namespace: str) -> list[Object]:
    """All jobs of a v1 kind; none for somebody who may not see them."""
    try:
        return (await client.list(kind.resource, namespace)).items
    except faults.Forbidden:
        return []


async def _has(client: Client, kind: JobKind, name: str) -> bool:
    try:
        return await client.find(kind.resource, name, client.namespace) is not None
    except faults.Forbidden:
        return False


async def served(client: Client) -> list[JobKind]:
    """The v1 kinds a server has; not every cluster does."""
    known = {str(entry.resource) for entry in await client.discovery.entries()}
    return [kind for kind in V1 if kind.resource in known]
