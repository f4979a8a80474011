"""The Python environment a command was called in: where the pods of `trainshed run` find their packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def of_caller() -> str:
    """The activated virtual environment, else the one that this program runs in."""
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if active and (Path(active) / "bin" / "python").exists():
        return str(Path(active).absolute())
    return sys.prefix
