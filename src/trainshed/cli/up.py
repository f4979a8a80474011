"""`trainshed up`: start the control plane and the node agent."""

from __future__ import annotations

import enum
import logging
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from trainshed.cli import invocation, output
from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle, listening, logs, modes, parts, restplaces, statefile
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.lifecycle import Wish
from trainshed.compose.listening import Listen
from trainshed.compose.settings import Choices
from trainshed.compose.statefile import ServerState
from trainshed.compose.trouble import WRONG_USAGE, Trouble


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
        raise typer.BadParameter("the name of a file is needed; --no-config forgets the last one")
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
NoConfig = Annotated[
    bool, typer.Option("--no-config", help="Forget the file that --config named.", show_default=False)
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
    no_config: NoConfig = False,
    server_only: ServerOnly = False,
    backend: BackendOption = None,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Start the API server, operator, node agent and REST backend."""
    listen = Listen(None if bind is None else listening.host(bind), port)
    folder = folder_of(data_dir)
    chosen = None if runner is None else runner.value
    choices = Choices(_config(config, no_config), relax, chosen, backend)
    wish = Wish((parts.SERVER,) if server_only else parts.ALL, choices, terminal=foreground)
    telling = _Telling(folder, wish, _has_backend(folder))
    if foreground:
        found = _stay(telling, listen, verbose)
    else:
        found = lifecycle.start(folder, listen, telling.ready, wish)
    if found is not None:
        telling.tell("already running", found, invocation.command("down"))


def _config(named: Path | None, none: bool) -> str | None:
    if none and named is not None:
        raise Trouble("--config and --no-config exclude each other", "leave one out", WRONG_USAGE)
    return "" if none else None if named is None else str(named)


def _has_backend(folder: DataFolder) -> bool:
    try:
        return statefile.running_any(folder.note(parts.BACKEND.name)) is not None
    except Trouble:  # a folder that is not ours: the start itself says so
        return False


def _stay(telling: _Telling, listen: Listen, verbose: bool) -> ServerState | None:
    logs.begin(logging.DEBUG if verbose else logging.INFO)
    return lifecycle.run(
        telling.folder, listen, lambda state: telling.tell("ready", state, "Ctrl-C"), telling.wish
    )


@dataclass(frozen=True, slots=True)
class _Telling:
    """What to say once all runs."""

    folder: DataFolder
    wish: Wish
    had_backend: bool

    def ready(self, state: ServerState) -> None:
        self.tell("ready", state, invocation.command("down"))

    def tell(self, how: str, state: ServerState, stop: str) -> None:
        folder = self.folder
        config = shlex.quote(str(folder.kubeconfig))
        is_whole = parts.AGENT in self.wish.parts
        mode = modes.read(folder)
        rows = {
            "address": state.url,
            **output.reach(state),
            **self._rest(),
            **(mode.rows({}) if is_whole else {"runs": "the API only: nothing acts on objects, no pod runs"}),
            "kubeconfig": str(folder.kubeconfig),
            "use it": f"export KUBECONFIG={config}; kubectl get clustertrainingruntimes",
            "stop it": stop,
        }
        print(f"Trainshed is {how}.\n{output.pairs(rows)}", flush=True)
        for missing in modes.absent_images(mode.settings) if is_whole else ():
            print(f"warning: {missing}: pods with such images will not start", file=sys.stderr)

    def _rest(self) -> dict[str, str]:
        """Where the REST backend is; it may still be starting, and answers as soon as it has."""
        if parts.BACKEND not in lifecycle.resolved(self.folder, self.wish).parts:
            is_gone = self.had_backend and not _has_backend(self.folder)
            again = invocation.command("up", "--backend")
            return {"REST API": f"stopped; {again} starts it again"} if is_gone else {}
        url = restplaces.last_url(self.folder)
        taken = f"{restplaces.USUAL_PORT} is taken; " if restplaces.is_usual_taken(self.folder) else ""
        return {"REST API": f"{url} ({taken}see {url}/docs)"} if url else {}
