"""The operator's own process: all controllers and the scheduler, as clients of the server."""

from __future__ import annotations

import sys

from trainshed.client.client import Client
from trainshed.compose import companion, operators, parts
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import Ready
from trainshed.loop import running


async def live(client: Client, order: Order, ready: Ready) -> None:
    # No lease: the data folder's lock lets only one run, and a successor need not wait for one to expire.
    chosen = operators.chosen(relax=order.settings.relax)
    await running.run(client, chosen, identity=operators.identity(), lease=None, ready=ready)


if __name__ == "__main__":
    sys.exit(companion.main(parts.OPERATOR, live))
