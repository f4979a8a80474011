"""Other people's clients, unmodified, against our server: each test file is one library.

All tests of a worker share one namespace of a random name; each test names its objects by the `name` fixture.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# The official client ships no types.
from kubernetes import client, config  # type: ignore[import-untyped]

from tests import waits
from tests.builders import a_config_map, a_namespace
from tests.clients.console import Console
from tests.server.wire import Wire
from tests.servers import Cluster
from tests.standin import Node

# More than the history the server keeps in bytes, in values as large as one object may be.
REWRITES, REWRITE_BYTES = 40, 900_000


@pytest.fixture(scope="session")
def namespace(cluster: Cluster) -> Iterator[str]:
    """The suite's own namespace."""
    name = f"clients-{secrets.token_hex(4)}"
    asyncio.run(_create_namespace(cluster, name))
    yield name
    asyncio.run(_delete_namespace(cluster, name))


@pytest.fixture
def name() -> str:
    """A name no other test uses."""
    return f"t-{secrets.token_hex(4)}"


@pytest.fixture
def api(cluster: Cluster) -> Iterator[client.ApiClient]:
    """The official client, configured as its users do it."""
    with config.new_client_from_config(str(cluster.kubeconfig)) as found:
        yield found


@pytest.fixture(scope="module")
def node(cluster: Cluster) -> Iterator[Node]:
    """A stand-in for the node agent, for streams into pods."""
    with Node(cluster.kubeconfig.parent) as node, Wire(cluster.config()) as wire:
        yield node
        node.forget(wire)


@pytest.fixture
def wire(cluster: Cluster) -> Iterator[Wire]:
    with Wire(cluster.config()) as wire:
        yield wire


@pytest.fixture(scope="session")
def forgotten(cluster: Cluster, namespace: str) -> str:
    """A resource version that is older than the history the server keeps."""
    return asyncio.run(_outwrite_history(cluster, namespace))


async def _create_namespace(cluster: Cluster, name: str) -> None:
    async with cluster.client() as client:
        await client.create(a_namespace(name))


async def _delete_namespace(cluster: Cluster, name: str) -> None:
    async with cluster.client() as client:
        await client.delete("namespaces", name)
        await waits.until_gone(client, "namespaces", name)


async def _outwrite_history(cluster: Cluster, namespace: str) -> str:
    async with cluster.client(namespace) as client:
        made = await client.create(a_config_map("rewritten"))
        for turn in range(REWRITES):
            await client.patch("configmaps", "rewritten", {"data": {"v": f"{turn:0{REWRITE_BYTES}}"}})
        await client.delete("configmaps", "rewritten")
    revision: str = made["metadata"]["resourceVersion"]
    return revision


@pytest.fixture
def console(cluster: Cluster, tmp_path: Path) -> Iterator[Console]:
    """A terminal with kubectl, in front of an empty namespace of its own."""
    unique = f"u-{secrets.token_hex(4)}"
    space = f"console-{secrets.token_hex(4)}"
    with Wire(cluster.config()) as wire:
        assert wire.ask("POST", "/api/v1/namespaces", a_namespace(space)).code == 201
        account = f"/api/v1/namespaces/{space}/serviceaccounts/default"
        deadline = time.monotonic() + waits.SECONDS
        while wire.ask("GET", account).code != 200:
            assert time.monotonic() < deadline, "no default service account"
        yield Console(cluster, tmp_path, space, unique)
        wire.ask("DELETE", f"/api/v1/namespaces/{space}")
