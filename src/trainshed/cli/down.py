"""`trainshed down`: stop the control plane."""

from __future__ import annotations

from trainshed.cli.options import DataDir, Verbose, folder_of
from trainshed.compose import lifecycle

_SAID = {
    "stopped": "Stopped (process {pid}).",
    "killed": "Killed (process {pid}): it did not stop when asked. Nothing that was acknowledged is lost.",
    "gone": "Not running any more (process {pid} has ended).",
}


def down(data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Stop the control plane; everything it stored stays."""
    ended = lifecycle.stop(folder_of(data_dir))
    if ended is None:
        print("Not running.")
    else:
        outcome, state = ended
        print(_SAID[outcome].format(pid=state.process.pid))
