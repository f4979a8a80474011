"""`trainshed status`: what runs, where it listens, where its files are."""

from __future__ import annotations

import platform

import typer

from trainshed import __version__
from trainshed.cli import output
from trainshed.cli.options import DataDir, Format, Output, Verbose, folder_of
from trainshed.compose import lifecycle
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import CANNOT_START


def status(data_dir: DataDir = None, form: Output = Format.table, verbose: Verbose = False) -> None:
    """Show addresses, paths, versions and pids; exit code 3 when nothing runs."""
    folder = folder_of(data_dir)
    found = lifecycle.find(folder)
    if form is Format.table:
        print(output.pairs(_rows(folder, found)))
    else:
        print(output.document(_body(folder, found), form))
    if found is None:
        typer.echo("Error: the control plane is not running. Hint: start it with trainshed up.", err=True)
        raise typer.Exit(CANNOT_START)


def _body(folder: DataFolder, found: ServerState | None) -> dict[str, object]:
    body: dict[str, object] = {
        "running": found is not None,
        "dataDir": str(folder.root),
        "kubeconfig": str(folder.kubeconfig),
        "log": str(folder.log),
        "auditLog": str(folder.audit),
        "cacheDir": str(folder.cache),
        "versions": {"trainshed": __version__, "python": platform.python_version()},
    }
    if found is not None:
        body["address"] = {"url": found.url, "host": found.host, "port": found.port}
        body["pids"] = {"apiserver": found.process.pid}
        body["startedAt"] = found.started
        body["versions"] = {**_versions(found), "python": platform.python_version()}
    return body


def _versions(found: ServerState) -> dict[str, str]:
    """Both sides: an upgraded command may well talk to a server that was started before."""
    return {"trainshed": __version__, "apiserver": found.version}


def _rows(folder: DataFolder, found: ServerState | None) -> dict[str, str]:
    if found is None:
        return {"running": "no", "data folder": str(folder.root)}
    return {
        "running": f"yes, since {found.started} (process {found.process.pid})",
        "address": found.url,
        "kubeconfig": str(folder.kubeconfig),
        "data folder": str(folder.root),
        "log": str(folder.log),
        "version": found.version
        if found.version == __version__
        else f"{found.version} (command: {__version__})",
    }
