"""Which engine runs the pods of this machine."""

from __future__ import annotations

import logging
from ipaddress import IPv4Network
from pathlib import Path
from typing import Protocol

from trainshed.runner.engine import Door, Engine
from trainshed.runner.process.engine import ProcessEngine
from trainshed.runner.sandbox.engine import SandboxEngine
from trainshed.runner.settings import RunnerName

log = logging.getLogger(__name__)


class NodeEngine(Engine, Protocol):
    network: IPv4Network
    """Where its pods have their addresses."""

    async def lead_to(self, host: str, port: int) -> Door:
        """Let pods reach the API server, which is at this address of the host; tell where."""


async def start(name: RunnerName, root: Path) -> NodeEngine:
    """The engine that was asked for, started; `auto` is a sandbox where this machine lets us make one.

    Raises `OSError` when it cannot be had.
    """
    if name == "process":
        return await _started(_processes(root))
    try:
        return await _started(_sandboxes(root))
    except OSError as refused:
        if name == "sandbox":
            raise
        log.warning("pods run as plain processes: %s", refused)
        return await _started(_processes(root))


async def _started(engine: NodeEngine) -> NodeEngine:
    await engine.start()
    return engine


def _sandboxes(root: Path) -> NodeEngine:
    # Keys, tokens and other pods' files are in the data folder: containers find it empty.
    return SandboxEngine(root / "agent" / "sandbox", hidden=[root])


def _processes(root: Path) -> NodeEngine:
    return ProcessEngine(root / "agent" / "process")
