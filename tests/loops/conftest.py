"""Controllers against the real embedded server: each test has a client and a namespace of its own.

Tests share a server, so a controller sees what others left: name what you wait for. It is a server of their
own: whatever controllers make of the objects of other tests would stay there, with finalizers nobody removes.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests import servers, waits
from tests.builders import a_namespace
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete
from trainshed.kube.faults import NotFound


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with servers.running(tmp_path_factory.mktemp("loops")) as found:
        yield found


@pytest_asyncio.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client whose default namespace is the test's own; it is emptied in the end."""
    namespace = f"loops-{secrets.token_hex(4)}"
    async with cluster.client(namespace, manager="test") as client:
        await client.create(a_namespace(namespace))
        await waits.eventually(lambda: client.get("serviceaccounts", "default"), NotFound)
        yield client
        await client.delete("namespaces", namespace, options=Delete("Background"))


@pytest.fixture
def name() -> str:
    """A name no other test uses."""
    return f"t-{secrets.token_hex(3)}"
