"""Chosen controllers against any cluster, in the foreground: one leader among all that run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.compose import companion, operators
from trainshed.compose.trouble import Trouble
from trainshed.kube.faults import Fault
from trainshed.loop import running
from trainshed.loop.controller import Controller

LEASE = "trainshed-operator"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to run: a kubeconfig (None for the usual one), and the namespace of the lease."""

    kubeconfig: Path | None = None
    lease_namespace: str = ""


def run(cluster: Cluster, names: Sequence[str], ready: Callable[[str], None]) -> None:
    """Run until a signal ends it; `ready` is called with the server's address. Raises `Trouble`."""
    chosen = operators.chosen(names)
    try:
        config = kubeconfig.load(cluster.kubeconfig)
        uvloop.run(
            companion.until_told(_run(Client.connect(config), cluster, chosen, lambda: ready(config.server)))
        )
    except (Failure, Fault, ExceptionGroup) as error:
        refusal = companion.refusal(error)
        raise Trouble(str(refusal), "see trainshed operator --help for how to name a cluster") from error


async def _run(
    client: Client, cluster: Cluster, controllers: Sequence[Controller], ready: Callable[[], None]
) -> None:
    async with client:
        place = cluster.lease_namespace or client.namespace
        await running.run(
            client, controllers, identity=operators.identity(), lease=f"{place}/{LEASE}", ready=ready
        )
