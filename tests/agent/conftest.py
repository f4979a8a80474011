"""A server and an agent for all tests of a module; each test has a namespace of its own."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests import waits
from tests.agent import nodes
from tests.agent.nodes import Place
from tests.builders import a_namespace
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete
from trainshed.kube.faults import NotFound


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "root: needs what only root may do; left out of an ordinary user's run"
    )


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with nodes.running(tmp_path_factory.mktemp("node")) as found:
        yield found


@pytest.fixture
def cluster(place: Place) -> Cluster:
    """What kubectl talks to."""
    return place.cluster


@pytest_asyncio.fixture
async def client(place: Place) -> AsyncIterator[Client]:
    namespace = f"agent-{secrets.token_hex(4)}"
    async with place.cluster.client(namespace, manager="test") as client:
        await client.create(a_namespace(namespace))
        await waits.eventually(lambda: client.get("serviceaccounts", "default"), NotFound)
        yield client
        await client.delete("namespaces", namespace, options=Delete("Background"))
