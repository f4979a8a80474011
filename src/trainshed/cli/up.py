"""`trainshed up`: start the control plane."""

from __future__ import annotations

import logging
import shlex
from typing import Annotated

import typer

from trainshed.cli import invocation, output
from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle, listening, logs
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.listening import Listen
from trainshed.compose.statefile import ServerState


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535:
        return int(text)
    raise typer.BadParameter(f"a number from 0 to 65535 is needed, not {text[:80]!r}")


Port = Annotated[
    int | None,
    typer.Option(
        metavar="<number>",
        parser=_port,
        help="Port to listen on; 0 for any free one.",
        show_default=str(listening.PORT),
    ),
]
Bind = Annotated[
    str | None,
    typer.Option(
        metavar="<address>",
        help="Address to listen on. 0.0.0.0 means every interface: other machines then reach it"
        " at this machine's name or address, with a copy of the kubeconfig.",
        show_default=listening.HOST,
    ),
]


def up(
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay and log to the terminal.")] = False,
    port: Port = None,
    bind: Bind = None,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Start the control plane: a Kubernetes API on this machine."""
    listen = Listen(None if bind is None else listening.host(bind), port)
    folder = folder_of(data_dir)
    if foreground:
        found = _stay(folder, listen, verbose)
    else:
        stop = invocation.command("down")
        found = lifecycle.start(folder, listen, lambda state: _tell("ready", state, folder, stop))
    if found is not None:
        _tell("already running", found, folder, invocation.command("down"))


def _stay(folder: DataFolder, listen: Listen, verbose: bool) -> ServerState | None:
    logs.begin(logging.DEBUG if verbose else logging.INFO)
    return lifecycle.run(folder, listen, lambda state: _tell("ready", state, folder, "Ctrl-C"))


def _tell(how: str, state: ServerState, folder: DataFolder, stop: str) -> None:
    config = shlex.quote(str(folder.kubeconfig))
    rows = {
        "address": state.url,
        **output.reach(state),
        "kubeconfig": str(folder.kubeconfig),
        "use it": f"export KUBECONFIG={config}; kubectl get clustertrainingruntimes",
        "stop it": stop,
    }
    print(f"Trainshed is {how}.\n{output.pairs(rows)}", flush=True)
