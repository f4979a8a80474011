"""The operator's own process: all controllers and the scheduler, as clients of the server."""

from __future__ import annotations

import sys

from trainshed.client.client import Client
from trainshed.compose import companion, operators, parts, reconcilemetrics
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import Ready
from trainshed.loop import running
from trainshed.loop.passes import Passes


async def live(client: Client, order: Order, ready: Ready) -> None:
    # No lease: the data folder's lock lets only one run, and a successor need not wait for one to expire.
    chosen, passes = operators.chosen(relax=order.settings.relax), Passes()
    async with reconcilemetrics.at_socket(passes, reconcilemetrics.SOCKET):
        await running.run(
            client, chosen, identity=operators.identity(), lease=None, ready=ready, passes=passes
        )


if __name__ == "__main__":
    sys.exit(companion.main(parts.OPERATOR, live))
