"""Our own server as a process that tests may provoke, and raw connections to it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.server import routes
from tests.server.accounts import token_for
from tests.server.routes import Route
from tests.server.wire import Wire
from tests.servers import Cluster, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all provocations of a worker; it must end well, having logged no failure of its own."""
    server = Server(tmp_path_factory.mktemp("provoked"))
    server.start()
    try:
        yield server
        assert server.stop() == 0, server.log
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Server]:
    """A server of this test's own; ended by its process id whatever happens."""
    server = Server(tmp_path / "mortal")
    try:
        yield server
        assert "Traceback" not in server.log, server.log[-4000:]
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


@pytest.fixture(scope="session")
def provoked(server: Server) -> Cluster:
    return Cluster(server.data / "kubeconfig", server.folder / "home", embedded=True)


@pytest.fixture
def wire(provoked: Cluster, server: Server) -> Iterator[Wire]:
    """A connection as administrator. Whatever was done on it, the server must be well afterwards."""
    with Wire(provoked.config()) as wire:
        yield wire
    with Wire(provoked.config()) as after:
        assert after.ask("GET", "/readyz").code == 200
    assert "Traceback" not in server.log, server.log[-4000:]


@pytest.fixture(scope="session")
def all_routes(provoked: Cluster) -> Sequence[Route]:
    with Wire(provoked.config()) as wire:
        return routes.discovered(wire)


@pytest.fixture
def space(wire: Wire) -> Iterator[str]:
    """A namespace of a test's own."""
    name = f"s-{secrets.token_hex(4)}"
    made = wire.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert made.code == 201, made.text
    yield name
    wire.ask("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def bot(wire: Wire, provoked: Cluster, space: str) -> Iterator[Wire]:
    """A connection with the token of a service account that nobody gave any right."""
    with Wire(provoked.config(), token_for(wire, space)) as bot:
        yield bot


@pytest.fixture
def nobody(provoked: Cluster) -> Iterator[Wire]:
    with Wire(provoked.config(), token="") as nobody:
        yield nobody
