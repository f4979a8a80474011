"""The promises of the Kubernetes API, checked against our server or, with --kubeconfig, against any cluster.

All tests of a worker share one event loop, one client and one namespace of a random name; each test names its
objects by the `name` fixture, so tests may run in any order and beside each other.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_namespace
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.kubeconfig import User
from trainshed.client.transport import HttpTransport
from trainshed.kube.faults import NotFound

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    shared_loop = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(shared_loop, append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client whose default namespace is the suite's own one."""
    namespace = f"contract-{secrets.token_hex(4)}"
    async with cluster.client(namespace) as client:
        await client.create(a_namespace(namespace))
        # A pod is refused until its service account is there; clusters make it a moment after the namespace.
        await waits.eventually(lambda: client.get("serviceaccounts", "default"), NotFound)
        yield client
        await client.delete("namespaces", namespace)
        await waits.until_gone(client, "namespaces", namespace)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def anonymous(cluster: Cluster) -> AsyncIterator[HttpTransport]:
    """The same server, asked without any credentials."""
    async with HttpTransport(dataclasses.replace(cluster.config(), user=User())) as transport:
        yield transport


@pytest.fixture
def name() -> str:
    """A name no other test uses."""
    return f"t-{secrets.token_hex(4)}"
