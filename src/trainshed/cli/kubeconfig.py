"""`trainshed kubeconfig`: the path for `export KUBECONFIG=$(trainshed kubeconfig)`."""

from __future__ import annotations

import stat

from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import trouble
from trainshed.compose.trouble import HERE, PROGRAM, Trouble


def kubeconfig(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Print the path of the kubeconfig."""
    path = folder_of(data_dir).kubeconfig
    try:
        found = stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        found = False
    except OSError as error:
        raise trouble.unreadable(error, path) from error
    if not found:
        raise Trouble(
            f"there is no kubeconfig at {path} yet", f"start the control plane once with {PROGRAM} up{HERE}"
        )
    print(path)
