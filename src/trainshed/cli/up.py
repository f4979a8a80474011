"""`trainshed up`: start the control plane and the node agent."""

from __future__ import annotations

import enum
import logging
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from trainshed.cli import invocation, output
from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle, listening, logs, modes, parts, restplaces
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.lifecycle import Wish
from trainshed.compose.listening import Listen
from trainshed.compose.settings import Choices
from trainshed.compose.statefile import ServerState


class Runner(enum.StrEnum):
    auto = "auto"
    sandbox = "sandbox"
    process = "process"


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535:
        return int(text)
    raise typer.BadParameter(f"a number from 0 to 65535 is needed, not {text[:80]!r}")


def _file(text: str) -> Path:
    if not text:
        raise typer.BadParameter("the name of a file is needed")
    return Path(text).expanduser().absolute()


Port = Annotated[
    int | None,
    typer.Option(
        metavar="<number>",
        parser=_port,
        help="Port to listen on; 0 for any free one.",
        show_default=f"the last one, at first {listening.PORT}",
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
Relax = Annotated[
    bool | None,
    typer.Option(
        "--relax/--no-relax",
        help="Run pods here whatever they request: GPUs, cpu, memory, nodes with certain labels. Remembered.",
        show_default=False,
    ),
]
RunnerOption = Annotated[
    Runner | None,
    typer.Option(help="How pods run. Remembered.", show_default="auto: sandbox where possible"),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="<file>",
        parser=_file,
        help="Settings in TOML: images, simulated nodes. Remembered.",
        show_default="config.toml in the data folder",
    ),
]
ServerOnly = Annotated[
    bool, typer.Option("--server-only", help="Only the API: nothing acts on objects, no pod runs.")
]
BackendOption = Annotated[
    bool | None,
    typer.Option("--backend/--no-backend", help="The REST API beside it. Remembered.", show_default=False),
]


def up(
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay and log to the terminal.")] = False,
    port: Port = None,
    bind: Bind = None,
    relax: Relax = None,
    runner: RunnerOption = None,
    config: Config = None,
    server_only: ServerOnly = False,
    backend: BackendOption = None,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Start the API server, operator, node agent and REST backend."""
    listen = Listen(None if bind is None else listening.host(bind), port)
    folder = folder_of(data_dir)
    choices = Choices(
        None if config is None else str(config), relax, None if runner is None else runner.value, backend
    )
    wish = Wish((parts.SERVER,) if server_only else parts.ALL, choices, terminal=foreground)
    stop = invocation.command("down")
    if foreground:
        found = _stay(folder, listen, wish, verbose)
    else:
        found = lifecycle.start(folder, listen, lambda state: _tell("ready", state, folder, wish, stop), wish)
    if found is not None:
        _tell("already running", found, folder, wish, stop)


def _stay(folder: DataFolder, listen: Listen, wish: Wish, verbose: bool) -> ServerState | None:
    logs.begin(logging.DEBUG if verbose else logging.INFO)
    return lifecycle.run(folder, listen, lambda state: _tell("ready", state, folder, wish, "Ctrl-C"), wish)


def _tell(how: str, state: ServerState, folder: DataFolder, wish: Wish, stop: str) -> None:
    config = shlex.quote(str(folder.kubeconfig))
    is_whole = parts.AGENT in wish.parts
    mode = modes.read(folder)
    rows = {
        "address": state.url,
        **output.reach(state),
        **_rest(folder, wish),
        **(mode.rows({}) if is_whole else {"runs": "the API only: nothing acts on objects, no pod runs"}),
        "kubeconfig": str(folder.kubeconfig),
        "use it": f"export KUBECONFIG={config}; kubectl get clustertrainingruntimes",
        "stop it": stop,
    }
    print(f"Trainshed is {how}.\n{output.pairs(rows)}", flush=True)
    for missing in modes.absent_images(mode.settings) if is_whole else ():
        print(f"warning: {missing}: pods with such images will not start", file=sys.stderr)


def _rest(folder: DataFolder, wish: Wish) -> dict[str, str]:
    """Where the REST backend is; it may still be starting, and answers as soon as it has."""
    url = restplaces.last_url(folder) if parts.BACKEND in lifecycle.resolved(folder, wish).parts else ""
    return {"REST API": f"{url} (see {url}/docs)"} if url else {}
