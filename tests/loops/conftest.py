"""Controllers against the real embedded server: each test has a client and a namespace of its own.

Tests share a server, so a controller sees what others left: name what you wait for.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_namespace
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Delete
from trainshed.kube.faults import NotFound


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
