"""`trainshed status`: what runs, where it listens, where its files are."""

from __future__ import annotations

import os
import platform

from trainshed import __version__
from trainshed.cli import invocation, output
from trainshed.cli.options import DataDir, Format, Output, Verbose, folder_of
from trainshed.compose import health, lifecycle, modes, settings
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.lifecycle import Found
from trainshed.compose.parts import AGENT, BACKEND, OPERATOR, Part
from trainshed.compose.settings import Choices
from trainshed.compose.statefile import ServerState, State
from trainshed.compose.trouble import HERE, PROGRAM, Trouble

OTHERS = (OPERATOR, AGENT, BACKEND)


def status(data_dir: DataDir = None, form: Output = Format.table, verbose: Verbose = False) -> None:
    """Show addresses, paths and processes; 3 when nothing runs."""
    folder = folder_of(data_dir)
    try:
        found = lifecycle.find_all(folder)
    except Trouble as error:
        _print(folder, Found(), None, form)
        raise Trouble(f"cannot tell whether it runs: {error.message}", error.hint, error.code) from error
    _print(folder, found, found.server is not None, form)
    if found.server is None:
        raise Trouble("the control plane is not running", f"start it with {PROGRAM} up{HERE}")


def _print(folder: DataFolder, found: Found, runs: bool | None, form: Format) -> None:
    """Print what is known; `runs` is None where it is not known whether a server runs."""
    if form is not Format.table:
        print(output.document({"running": runs, **_body(folder, found)}, form))
    elif found.server is None:
        running = "not known" if runs is None else "no"
        log = {"log": str(folder.log)} if os.path.exists(folder.log) else {}  # it may tell why
        rows = {"running": running, "data folder": str(folder.root), **log, **_others(folder, found)}
        print(output.pairs(rows))
    else:
        print(output.pairs(_rows(folder, found, found.server)))


def _body(folder: DataFolder, found: Found) -> dict[str, object]:
    server, python = found.server, platform.python_version()
    body: dict[str, object] = {
        "dataDir": str(folder.root),
        "kubeconfig": str(folder.kubeconfig),
        "log": str(folder.log),
        "auditLog": str(folder.audit),
        "cacheDir": str(folder.cache),
        "settings": modes.read(folder).body(),
        "versions": {"trainshed": __version__, "python": python},
    }
    if server is not None:
        trouble = health.obstacle(server)
        body["ready"] = not trouble
        if trouble:
            body["trouble"] = trouble
        body["address"] = {"url": server.url, "host": server.host, "port": server.port}
        pids = {str(name): state.process.pid for name, state in found.others.items()}
        body["pids"] = {"apiserver": server.process.pid, **pids}
        body["startedAt"] = server.started
        # All sides: an upgraded command may well talk to processes that were started before.
        body["versions"] = {"trainshed": __version__, "apiserver": server.version, "python": python}
    for part in OTHERS:
        body[part.name] = _part_body(folder, part, found.others.get(part.name))
    return body


def _part_body(folder: DataFolder, part: Part, state: State | None) -> dict[str, object]:
    body: dict[str, object] = {"running": state is not None, "log": str(folder.log_of(part.name))}
    if state is not None:
        body |= {"pid": state.process.pid, "version": state.version, "startedAt": state.started}
    if state is not None and state.url:
        body["url"] = state.url
    return body


def _rows(folder: DataFolder, found: Found, server: ServerState) -> dict[str, str]:
    return {
        "running": f"yes, since {server.started} (process {server.process.pid})",
        **({"ready": f"no, {trouble}"} if (trouble := health.obstacle(server)) else {}),
        "address": server.url,
        **output.reach(server),
        **_others(folder, found),
        **modes.read(folder).rows(found.others),
        "kubeconfig": str(folder.kubeconfig),
        "data folder": str(folder.root),
        "log": str(folder.log),
        "audit log": str(folder.audit),
        "version": _version(server.version),
    }


def _others(folder: DataFolder, found: Found) -> dict[str, str]:
    return {part.name: _part_row(folder, part, found.others.get(part.name)) for part in OTHERS}


def _part_row(folder: DataFolder, part: Part, state: State | None) -> str:
    if state is None:
        is_unwanted = part is BACKEND and not settings.wants_backend(folder, Choices())
        wanted = ("up", "--backend") if is_unwanted else ("up",)
        return f"not running; start it with {invocation.command(*wanted)}"
    where = f", {state.url}" if state.url else ""
    older = "" if state.version == __version__ else f", version {state.version}"
    return f"running (process {state.process.pid}{older}){where}, log {folder.log_of(part.name)}"


def _version(version: str) -> str:
    return version if version == __version__ else f"{version} (command: {__version__})"
