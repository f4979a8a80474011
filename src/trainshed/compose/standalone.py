"""Chosen controllers against any cluster, in the foreground: one leader among all that run them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop

from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.client.failures import ConnectionFailure, Failure
from trainshed.compose import companion, operators, reconcilemetrics
from trainshed.compose.trouble import Trouble
from trainshed.kube.faults import Fault, Forbidden
from trainshed.loop import running
from trainshed.loop.controller import Controller
from trainshed.loop.passes import Passes

LEASE = "trainshed-operator"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to run: a kubeconfig (None for the usual one), and the namespace of the lease."""

    kubeconfig: Path | None = None
    lease_namespace: str = ""
    metrics_port: int | None = None
    """Where to tell Prometheus what the controllers do; nowhere where there is none."""


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
    passes = Passes()
    async with client, AsyncExitStack() as stack:
        if cluster.metrics_port is not None:
            await stack.enter_async_context(await _metrics(passes, cluster.metrics_port))
        namespace = cluster.lease_namespace or client.namespace
        await _check_lease(client, namespace)
        lease = f"{namespace}/{LEASE}"
        await running.run(
            client, controllers, identity=operators.identity(), lease=lease, ready=ready, passes=passes
        )


async def _check_lease(client: Client, namespace: str) -> None:
    """Without its namespace there never is a lease, and nobody would ever lead."""
    try:
        found = await client.find("namespaces", namespace)
    except (Forbidden, ConnectionFailure):
        return  # not for us to see, or the server is still to come
    if found is None:
        why = f'the namespace "{namespace}" does not exist, and the Lease of the operator would be in it'
        raise Trouble(why, "create it, or name another one with --lease-namespace")


async def _metrics(passes: Passes, port: int) -> asyncio.Server:
    try:
        # At all addresses: in a cluster, whoever scrapes comes from another pod. The numbers name nobody.
        return await reconcilemetrics.at_port(passes, "", port)
    except OSError as error:
        why = f"cannot listen on port {port} for metrics: {error.strerror}"
        raise Trouble(why, "choose another one with --metrics-port") from error
