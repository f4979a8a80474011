"""`trainshed token`: the administrator's token, for `curl -H "Authorization: Bearer $(trainshed token)"`."""

from __future__ import annotations

from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose.trouble import HERE, PROGRAM, Trouble


def token(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Print the administrator's token, for curl.

    For example: curl -H "Authorization: Bearer $(trainshed token)" $(trainshed url)/api/whoami
    """
    from trainshed.client import kubeconfig
    from trainshed.client.failures import BadConfig

    path = folder_of(data_dir).kubeconfig
    hint = f"start it once with {PROGRAM} up{HERE}"
    if not path.exists():
        raise Trouble("there is no token yet: the control plane was never started here", hint)
    try:
        found = kubeconfig.load(path).user.token
    except BadConfig as error:
        raise Trouble(f"there is no token: {error}", hint) from error
    print(found)
