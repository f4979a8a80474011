"""What several tests of pure modules share and nobody should make twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainshed.kinds.schemas import Schemas


@pytest.fixture(scope="session")
def schema_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("schemas")


@pytest.fixture(scope="session")
def schemas(schema_cache: Path) -> Schemas:
    """The generated schemas; making them takes a second."""
    return Schemas.load(schema_cache)
