"""The shape of a plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trainshed.controllers.trainjob.draft import Draft

PORT = 29500
"""Where the first node waits for the others, whatever the framework."""


class Plugin(NamedTuple):
    name: str
    applies: Callable[[Draft], bool]
    enforce: Callable[[Draft], None]
    """Change the draft; may raise `refusals.Refusal`."""
    env_first: bool = False
    """Whether the TrainJob's variables stand before the plugin's; they win in any case."""


def first_node(draft: Draft) -> str:
    """The address of node 0. Like upstream's, it knows neither other job names nor `network.subdomain`."""
    return f"{draft.name}-node-0-0.{draft.name}"
