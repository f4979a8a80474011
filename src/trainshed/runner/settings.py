"""What its user decides about a node: how pods run, in which environments, and which nodes to pretend.

Read from a file by `compose.settings`, handed to the agent as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RunnerName = Literal["auto", "sandbox", "process"]
Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
WEEK_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str = ""
    effect: Effect = "NoSchedule"


@dataclass(frozen=True, slots=True)
class SimulatedNode:
    """A node beside this machine's own one; its pods run here all the same."""

    name: str
    cpu: str
    memory: str
    gpus: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageRule:
    """Containers whose image fits the pattern (as in a shell) run in this environment or root folder."""

    pattern: str
    path: str = ""
    """Empty for the environment that any image stands for."""
    contents: tuple[tuple[str, str], ...] = ()
    """What else an image has in it: paths in its containers, and what of this machine is there."""


@dataclass(frozen=True, slots=True)
class Settings:
    relax: bool = False
    """Requests, and what no node can offer, do not keep a pod from running."""
    runner: RunnerName = "auto"
    images: tuple[ImageRule, ...] = ()
    """The first one that fits counts."""
    nodes: tuple[SimulatedNode, ...] = ()
    keep_logs_seconds: float = WEEK_SECONDS
    """How long logs outlive their pod."""
