"""One control plane and one backend for all tests of a worker.

`pytest tests/backend --kubeconfig FILE` runs them against the cluster of that kubeconfig instead;
`--second-plane` against a second, separate control plane that a copied kubeconfig leads to.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.backend import service
from tests.backend.service import Backend
from tests.servers import Cluster

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """What the backend under test stands in front of."""
    folder = tmp_path_factory.mktemp("plane")
    if given := request.config.getoption("--kubeconfig"):
        yield Cluster(Path(given).absolute(), folder)
        return
    with service.plane(folder, "--relax") as found:
        if not request.config.getoption("--second-plane"):
            yield found
            return
        with service.plane(tmp_path_factory.mktemp("second"), "--relax") as second:
            yield Cluster(service.moved(second.kubeconfig, folder / "carried.json"), folder)


@pytest.fixture(scope="session")
def backend(plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with service.serving(tmp_path_factory.mktemp("backend"), plane) as found:
        yield found


@pytest.fixture
def rest(backend: Backend) -> Iterator[httpx.Client]:
    """A REST client as the administrator."""
    with backend.rest() as client:
        yield client


@pytest.fixture
def namespace() -> str:
    """A name for a namespace of one test alone; nobody has made it yet."""
    return f"t{os.getpid()}-{next(_numbers)}"
