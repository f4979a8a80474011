"""Keeps the node objects on the server: made at the start, renewed while we live, marked when we leave."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.client.requests import ALL, Delete, Where
from trainshed.kinds.core.heartbeats import AGENT, LEASE_NAMESPACE, LEASE_SECONDS
from trainshed.kube import faults
from trainshed.kube.objects import Object, text
from trainshed.runner import node
from trainshed.runner.engine import Features
from trainshed.runner.machine import Machine
from trainshed.runner.node import NodePlan

log = logging.getLogger(__name__)

RENEW_SECONDS = 10.0
_STATUS_EVERY = 30
"""Renewals between two full reports."""


class Registration:
    def __init__(
        self,
        client: Client,
        machine: Machine,
        plans: Sequence[NodePlan],
        features: Features,
        clock: Callable[[], datetime],
    ) -> None:
        self._client, self._machine, self._plans = client, machine, plans
        self._features, self._clock = features, clock
        self._nodes: dict[str, Object] = {}
        self._heard = clock()
        """When the server last had a word from us."""

    async def register(self) -> None:
        """All our nodes are there and ready; those we no longer pretend are gone with their pods."""
        await self._retire()
        await asyncio.gather(*(self._register(plan) for plan in self._plans))

    async def keep(self) -> None:
        """Renew the leases, for ever; a server that is away is waited for."""
        count = 0
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            count += 1
            try:
                is_due = count % _STATUS_EVERY == 0
                if not is_due and not self._was_silent():
                    await asyncio.gather(*(self._renew(plan) for plan in self._plans))
                if is_due or self._was_silent():  # also by now: the answer may have been long in coming
                    await self.register()
                self._heard = self._clock()
            except (faults.Fault, Failure) as trouble:
                log.info("the node's lease is not renewed: %s", trouble)

    def _was_silent(self) -> bool:
        """Whether our nodes may count as lost by now: then a renewal alone does not make them ready."""
        return (self._clock() - self._heard).total_seconds() > LEASE_SECONDS / 2

    async def leave(self) -> None:
        """Say that nothing runs here from now on."""
        await asyncio.gather(*(self._report(plan, ready=False) for plan in self._plans))

    async def _register(self, plan: NodePlan) -> None:
        wanted = node.node(plan, self._machine, self._features)
        try:
            # Labels and taints that others put there stay: a patch names only our own.
            self._nodes[plan.name] = await self._client.patch("nodes", plan.name, wanted, type="strategic")
        except faults.NotFound:
            self._nodes[plan.name] = await self._client.create(wanted)
        await self._report(plan, ready=True)
        await self._renew(plan)

    async def _report(self, plan: NodePlan, *, ready: bool) -> None:
        known = self._nodes.get(plan.name, {})
        status = node.status(plan, self._machine, known, self._clock(), ready=ready)
        self._nodes[plan.name] = await self._client.patch(
            "nodes", plan.name, {"status": status}, type="strategic", subresource="status"
        )

    async def _renew(self, plan: NodePlan) -> None:
        lease = node.lease(plan, self._nodes[plan.name], self._clock())
        try:
            await self._client.patch(
                "leases.coordination.k8s.io", plan.name, {"spec": lease["spec"]}, LEASE_NAMESPACE
            )
        except faults.NotFound:
            await self._client.create(lease)

    async def _retire(self) -> None:
        ours = Where(labels=f"{AGENT}={self._machine.hostname}")
        kept = {plan.name for plan in self._plans}
        for found in (await self._client.list("nodes", where=ours)).items:
            name = text(found, "metadata", "name")
            if name not in kept:
                log.info("node %s is no longer configured and is removed with its pods", name)
                await self._client.delete("nodes", name)
                await self._remove_pods(name)

    async def _remove_pods(self, node_name: str) -> None:
        bound = await self._client.list("pods", ALL, Where(fields=f"spec.nodeName={node_name}"))
        for pod in bound.items:
            name, namespace = text(pod, "metadata", "name"), text(pod, "metadata", "namespace")
            options = Delete(grace_seconds=0, uid=text(pod, "metadata", "uid"))
            try:
                await self._client.delete("pods", name, namespace, options)
            except faults.NotFound:
                continue
