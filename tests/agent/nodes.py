"""A real server with a real node agent beside it, each a process that can be killed and started again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers import SOURCE, STOP_SECONDS, Cluster, Server
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import READY
from trainshed.runner import machine
from trainshed.runner.settings import Settings

START_SECONDS = 60.0
NODE = machine.look(Path("/")).hostname


@dataclass
class Agent:
    data: Path
    settings: Settings = field(default_factory=Settings)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> str:
        return (self.data / "agent.log").read_text(errors="replace")

    def start(self) -> None:
        reading, writing = os.pipe()
        order = Order(str(self.data), str(self.data / "cache"), writing, settings=self.settings)
        path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
        with (self.data / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "trainshed.compose.agentprocess", order.written()],
                stdout=log,
                stderr=log,
                pass_fds=(writing,),
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        os.close(writing)
        with os.fdopen(reading, "rb") as report:
            said = report.readline().decode().strip()
        assert said == READY, f"the agent did not start: {said}\n{self.log}"

    def kill(self) -> None:
        """End it as a power cut would; its pods go on."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """End it politely, and its pods with it."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(START_SECONDS)


@dataclass
class Place:
    server: Server
    agent: Agent
    cluster: Cluster


@contextmanager
def running(folder: Path, settings: Settings | None = None) -> Iterator[Place]:
    """A server and an agent for as long as the block runs; nothing is left of either."""
    server = Server(folder)
    cluster = server.start()
    agent = Agent(server.data, settings or Settings())
    try:
        agent.start()
        yield Place(server, agent, cluster)
    finally:
        if agent.process is not None and agent.process.poll() is None:
            agent.stop()
        if server.process is not None and server.process.poll() is None:
            server.stop()


def wait_for_line(file: Path, text: str) -> None:
    """Until a file of the host has a text in it."""
    deadline = time.monotonic() + START_SECONDS
    while not (file.exists() and text in file.read_text()):
        assert time.monotonic() < deadline, f"{file} has no {text!r}"
        time.sleep(0.02)


def wait_for_log(place: Place, text: str) -> None:
    """Until some container's log has a text in it."""
    logs, deadline = place.server.data / "logs", time.monotonic() + START_SECONDS
    while not any(text in file.read_text() for file in logs.rglob("*.log")):
        assert time.monotonic() < deadline, f"no log has {text!r}"
        time.sleep(0.02)
