from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from tests.backend.service import Backend
from tests.jobs.builders import a_runtime, a_shell
from trainshed.client.client import Client
from trainshed.kube import faults
from trainshed.kube.objects import Object

_numbers = itertools.count(1)
Submit = Callable[..., Object]
T = TypeVar("T")


@pytest.fixture
def name() -> str:
    return f"reads-{os.getpid()}-{next(_numbers)}"


@pytest.fixture(scope="session")
def strict(backend: Backend) -> str:
    """A runtime whose jobs fail with their first pod."""
    runtime = a_runtime("reads-strict", backoffLimit=0, pod={"restartPolicy": "Never"})
    _create(backend, runtime, "default")
    return "reads-strict"


@pytest.fixture
def submit(backend: Backend, strict: str) -> Submit:
    """Make a TrainJob that runs a shell script, as the administrator."""

    def made(name: str, script: str, namespace: str = "default", nodes: int = 1, runtime: str = "") -> Object:
        return _create(backend, a_shell(name, script, nodes, runtime=runtime or strict), namespace)

    return made


def _create(backend: Backend, obj: Object, namespace: str) -> Object:
    async def created(client: Client) -> Object:
        try:
            return await client.create(obj, namespace)
        except faults.AlreadyExists:
            return obj

    return asked(backend, created)


def asked(backend: Backend, ask: Callable[[Client], Awaitable[T]]) -> T:
    """What the Kubernetes API answers the administrator."""

    async def answered() -> T:
        async with backend.client() as client:
            return await ask(client)

    return asyncio.run(answered())
