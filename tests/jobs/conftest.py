from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests import whole
from tests.whole import Whole

_numbers = itertools.count()


@pytest.fixture(scope="session")
def relaxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """One Trainshed for all tests of a worker that runs what manifests for larger machines ask for."""
    with whole.running(tmp_path_factory.mktemp("relaxed"), "--relax") as found:
        yield found


@pytest.fixture(scope="session")
def shed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """One Trainshed for all tests of a worker; what they make has names of its own."""
    with whole.running(tmp_path_factory.mktemp("shed")) as found:
        yield found


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A Trainshed for one test alone, to be killed and started again."""
    with whole.running(tmp_path_factory.mktemp("own")) as found:
        yield found


@pytest.fixture
def name() -> str:
    return f"job-{next(_numbers)}"
