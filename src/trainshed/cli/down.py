"""`trainshed down`: stop everything that `up` started."""

from __future__ import annotations

from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle

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
    """Stop everything, pods too; everything that was stored stays."""
    ended = lifecycle.stop(folder_of(data_dir))
    for part, outcome, pid in ended:
        print(_SAID[outcome].format(name=_NAMES[part.name], pid=pid))
    if not ended:
        print("Not running.")
