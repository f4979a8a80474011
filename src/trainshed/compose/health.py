"""Whether a server that runs can also work."""

from __future__ import annotations

from trainshed.compose import ports
from trainshed.compose.statefile import ServerState


def obstacle(server: ServerState) -> str:
    """Why the server takes no writes at the moment, in its own words; empty when it is ready."""
    status, answer = ports.ask(server.host, server.port, "/readyz")
    if status == 200:
        return ""
    if not status:
        return f"it does not answer at {server.url}"
    failing = [line[3:] for line in answer.decode(errors="replace").splitlines() if line.startswith("[-]")]
    return "; ".join(failing) or f"it answers {status}"
