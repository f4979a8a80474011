"""`trainshed up`: start the control plane."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from trainshed.cli import output
from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.lifecycle import Started
from trainshed.compose.serverprocess import Listen
from trainshed.compose.statefile import ServerState


def up(
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay and log to the terminal.")] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 6443,
    bind: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Start the control plane: a Kubernetes API for kubectl and the SDKs."""
    folder = folder_of(data_dir)
    if foreground:
        _stay(folder, Listen(bind, port), verbose)
    else:
        _report(lifecycle.start(folder, Listen(bind, port)), folder)


def _stay(folder: DataFolder, listen: Listen, verbose: bool) -> None:
    level = logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    found = lifecycle.run(folder, listen, lambda state: _tell("Trainshed is ready.", state, folder))
    if found is not None:
        _report(found, folder)


def _report(started: Started, folder: DataFolder) -> None:
    _tell(
        "Trainshed is already running." if started.already else "Trainshed is ready.", started.state, folder
    )


def _tell(headline: str, state: ServerState, folder: DataFolder) -> None:
    rows = {
        "address": state.url,
        "kubeconfig": str(folder.kubeconfig),
        "use it": f"export KUBECONFIG={_quoted(str(folder.kubeconfig))}; kubectl get clustertrainingruntimes",
        "stop it": "trainshed down",
    }
    print(f"{headline}\n{output.pairs(rows)}", flush=True)


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
