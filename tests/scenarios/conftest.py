from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path / "data")
    yield place
    place.run("down")
