"""`trainshed url`: where the REST backend answers, for `curl $(trainshed url)/api/whoami`."""

from __future__ import annotations

from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle
from trainshed.compose.parts import BACKEND
from trainshed.compose.trouble import HERE, PROGRAM, Trouble


def url(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Print the address of the REST API, for curl."""
    found = lifecycle.find_all(folder_of(data_dir))
    if found.server is None:
        raise Trouble("the control plane is not running", f"start it with {PROGRAM} up{HERE}")
    backend = found.others.get(BACKEND.name)
    if backend is None:
        raise Trouble("the REST backend is not running", f"start it with {PROGRAM} up --backend{HERE}")
    print(backend.url)
