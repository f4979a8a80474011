"""Commands that bring something to run start what runs it, where that is this machine's own."""

from __future__ import annotations

from trainshed.cli import console
from trainshed.cli.target import Target
from trainshed.compose import lifecycle
from trainshed.compose.listening import Listen
from trainshed.compose.trouble import Trouble


def if_needed(where: Target) -> None:
    if not where.is_embedded:
        return
    try:
        lifecycle.start(where.folder, Listen(None, None), lambda state: console.say(f"started {state.url}"))
    except Trouble as trouble:
        # Settings that became bad keep nobody from using what already runs.
        if not lifecycle.find_all(where.folder).is_complete:
            raise
        console.say(f"warning: {trouble.message}; going on with what runs")
