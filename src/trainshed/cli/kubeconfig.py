"""`trainshed kubeconfig`: the path for `export KUBECONFIG=$(trainshed kubeconfig)`."""

from __future__ import annotations

from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose.trouble import Trouble


def kubeconfig(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Print the path of the kubeconfig."""
    path = folder_of(data_dir).kubeconfig
    if not path.is_file():
        raise Trouble(
            f"there is no kubeconfig at {path} yet", "start the control plane once with trainshed up"
        )
    print(path)
