"""`trainshed token`: the administrator's token, for `curl -H "Authorization: Bearer $(trainshed token)"`."""

from __future__ import annotations

from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose.trouble import HERE, PROGRAM, Trouble


def token(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Print the administrator's token, for curl."""
    from trainshed.client import kubeconfig
    from trainshed.client.failures import BadConfig

    path = folder_of(data_dir).kubeconfig
    try:
        found = kubeconfig.load(path).user.token
    except BadConfig as error:
        hint = f"start the control plane once with {PROGRAM} up{HERE}"
        raise Trouble(f"there is no token yet: {error}", hint) from error
    print(found)
