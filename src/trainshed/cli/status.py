"""`trainshed status`: what runs, where it listens, where its files are."""

from __future__ import annotations

import platform

from trainshed import __version__
from trainshed.cli import output
from trainshed.cli.options import DataDir, Format, Output, Verbose, folder_of
from trainshed.compose import lifecycle
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import HERE, PROGRAM, Trouble


def status(data_dir: DataDir = None, form: Output = Format.table, verbose: Verbose = False) -> None:
    """Show addresses, paths and processes; 3 when nothing runs."""
    folder = folder_of(data_dir)
    try:
        found = lifecycle.find(folder)
    except Trouble as error:
        _print(folder, None, None, form)
        raise Trouble(f"cannot tell whether it runs: {error.message}", error.hint, error.code) from error
    _print(folder, found, found is not None, form)
    if found is None:
        raise Trouble("the control plane is not running", f"start it with {PROGRAM} up{HERE}")


def _print(folder: DataFolder, found: ServerState | None, runs: bool | None, form: Format) -> None:
    """Print what is known; `runs` is None where it is not known whether one runs."""
    if form is not Format.table:
        print(output.document({"running": runs, **_body(folder, found)}, form))
    elif found is None:
        running = "not known" if runs is None else "no"
        print(output.pairs({"running": running, "data folder": str(folder.root)}))
    else:
        print(output.pairs(_rows(folder, found)))


def _body(folder: DataFolder, found: ServerState | None) -> dict[str, object]:
    body: dict[str, object] = {
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


def _rows(folder: DataFolder, found: ServerState) -> dict[str, str]:
    return {
        "running": f"yes, since {found.started} (process {found.process.pid})",
        "address": found.url,
        **output.reach(found),
        "kubeconfig": str(folder.kubeconfig),
        "data folder": str(folder.root),
        "log": str(folder.log),
        "audit log": str(folder.audit),
        "version": found.version
        if found.version == __version__
        else f"{found.version} (command: {__version__})",
    }
