"""The REST backend's own process: a client of the server like any other, on a socket it was given."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trainshed.backend.settings import Settings
from trainshed.client.client import Client
from trainshed.compose import backendsettings, companion, parts, reconcilemetrics
from trainshed.compose.orders import Order
from trainshed.compose.partprocess import Ready

if TYPE_CHECKING:
    from trainshed.backend.serving import Certificate


async def live(client: Client, order: Order, ready: Ready) -> None:
    # Imported once the server is there: until then, it needs the processors more than we do.
    from trainshed.backend import serving

    _keep_private(order.folder.access_log)
    config = companion.nearby(order.folder)
    with socket.socket(fileno=order.listener) as listener:
        await serving.serve(settings_of(order), config, listener, ready, _certificate(order))


def _keep_private(access_log: Path) -> None:
    """What this process writes tells who did what; so does a log from before."""
    os.umask(0o077)
    with contextlib.suppress(FileNotFoundError):
        access_log.chmod(0o600)


def settings_of(order: Order) -> Settings:
    folder = order.folder
    return dataclasses.replace(
        backendsettings.parsed(order.backend),
        data=folder.root / "backend",
        kept_logs=folder.pod_logs,
        access_log=folder.access_log,
        operator_socket=Path(reconcilemetrics.SOCKET),  # in the folder we are in: longer paths may not fit
    )


def _certificate(order: Order) -> Certificate | None:
    from trainshed.backend.serving import Certificate

    pair = backendsettings.address(order.backend).certificate
    return Certificate(Path(pair[0]), Path(pair[1])) if pair else None


if __name__ == "__main__":
    sys.exit(companion.main(parts.BACKEND, live))
