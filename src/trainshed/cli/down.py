"""`trainshed down`: stop everything that `up` started."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from trainshed.cli import target
from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle, statefile
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.trouble import Trouble

if TYPE_CHECKING:
    from trainshed.client.client import Client
    from trainshed.kube.objects import Object

_ASK_SECONDS = 3.0
"""How long a server that does not answer may delay its own end."""
_NAMES = {
    "server": "the server",
    "operator": "the operator",
    "agent": "the agent and its pods",
    "backend": "the REST backend",
}
_SAID = {
    "stopped": "Stopped {name} (process {pid}).",
    "killed": "Killed {name} (process {pid}): it did not stop when asked. Nothing acknowledged is lost.",
    "gone": "Stopped {name} (process {pid} had just ended).",
    "cleared": "Stopped what the agent had left running (its process {pid} had ended before).",
}


def down(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Stop everything, pods too; everything that was stored stays.

    A job whose pods end fails, unless it may be tried again or was suspended before.
    """
    folder = folder_of(data_dir)
    _warn(folder)
    ended = lifecycle.stop(folder)
    for part, outcome, pid in ended:
        print(_SAID[outcome].format(name=_NAMES[part.name], pid=pid))
    if not ended:
        print("Not running.")


def _warn(folder: DataFolder) -> None:
    """Name the jobs that this ends, where a server knows them; whatever it says, it is stopped."""
    running: list[str] = []
    with suppress(Trouble, TimeoutError, OSError):
        running = _running(folder)
    if running:
        from trainshed.jobs import ending

        what = f"this ends the pods of {ending.shortened(running)}"
        how = "a job fails by that unless it may be tried again; one that was suspended before can be resumed"
        print(f"warning: {what}: {how}", file=sys.stderr, flush=True)


def _running(folder: DataFolder) -> list[str]:
    if statefile.running(folder.state) is None:
        return []
    # Imported here: whoever has nothing to stop does not wait for the network's machinery.
    from trainshed.jobs import ending

    return ending.with_pods(target.perform(target.Target(folder), _pods))


async def _pods(client: Client) -> list[Object]:
    from trainshed.client.requests import ALL

    async with asyncio.timeout(_ASK_SECONDS):
        return (await client.list("pods", ALL)).items
