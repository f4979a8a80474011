"""The node agent's own process: runs the pods of this machine, as a client of the server.

Asked to end, it ends its pods. Killed, it leaves them running for the next one.
"""

from __future__ import annotations

import sys

from trainshed.client.client import Client
from trainshed.compose import companion, parts
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import Ready
from trainshed.runner import agent


async def live(client: Client, order: Order, ready: Ready) -> None:
    await agent.run(client, order.settings, order.folder.root, ready)


async def clear(order: Order) -> None:
    """End what an agent that was killed has left."""
    await agent.clear(order.settings, order.folder.root)


if __name__ == "__main__":
    sys.exit(companion.main(parts.AGENT, live, clear))
