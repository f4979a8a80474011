"""The node agent's own process: runs the pods of this machine, as a client of the server.

Asked to end, it ends its pods. Killed, it leaves them running for the next one.
"""

from __future__ import annotations

import asyncio
import sys

from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.compose import companion, parts, statefile
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import Ready
from trainshed.compose.trouble import Trouble
from trainshed.runner import agent
from trainshed.runner.agent import Server


async def live(client: Client, order: Order, ready: Ready) -> None:
    is_ready = False

    def announce() -> None:
        nonlocal is_ready
        ready()
        is_ready = True

    try:
        server = Server(client, kubeconfig.load(order.folder.kubeconfig).server)
        await agent.run(server, order.settings, order.folder.root, announce)
    except (asyncio.CancelledError, Exception) as error:
        if not is_ready and statefile.read_any(order.folder.note(parts.AGENT.name)) is None:
            await clear(order)  # in the midst of the first start: nobody would find what is left
        if isinstance(error, OSError):
            raise Trouble(f"the agent cannot run pods: {error}") from error
        raise


async def clear(order: Order) -> None:
    """End what an agent that was killed has left."""
    await agent.clear(order.settings, order.folder.root)


if __name__ == "__main__":
    sys.exit(companion.main(parts.AGENT, live, clear))
