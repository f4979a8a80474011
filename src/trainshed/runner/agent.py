"""The node agent as a whole: sees pods, gives each its address and its life, and ends them when told to."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainshed.aio.tasks import Tasks
from trainshed.client.client import Client
from trainshed.client.failures import Failure
from trainshed.kube import faults
from trainshed.kube.objects import Object, text
from trainshed.loop.cache import Cache
from trainshed.loop.events import Recorder
from trainshed.loop.informer import Informer
from trainshed.runner import api, engines, machine, node, pod_state, serving
from trainshed.runner.addresses import Addresses
from trainshed.runner.api import Api
from trainshed.runner.devices import Devices
from trainshed.runner.engines import NodeEngine
from trainshed.runner.hosts_files import HostsFiles
from trainshed.runner.logs import retention
from trainshed.runner.objects import Objects
from trainshed.runner.pod_life import DRAIN_SECONDS
from trainshed.runner.precedence import Precedence
from trainshed.runner.reclaiming import Reclaiming
from trainshed.runner.registration import Registration
from trainshed.runner.settings import Settings
from trainshed.runner.site import Folders, Site
from trainshed.runner.tenants import Tenants
from trainshed.runner.volumes import inmemory
from trainshed.runner.volumes.claimed import ClaimFolders

log = logging.getLogger(__name__)

_COMPONENT = "kubelet"
"""The name upstream's events carry; tools look for it."""
_FAREWELL_SECONDS = 10.0
_SWEEP_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Server:
    """The API server as this machine sees it."""

    client: Client
    url: str


async def run(server: Server, settings: Settings, folder: Path, ready: Callable[[], None]) -> None:
    """Run the pods of this machine until cancelled; then end them. Whoever kills us leaves them running."""
    folders = Folders(folder)
    folders.pods.mkdir(parents=True, exist_ok=True)
    engine = await engines.start(settings.runner, folder)
    host, port = api.address(server.url)
    access = Api(host, port, await engine.lead_to(host, port))
    cluster = await _cluster(server.client)
    async with Tasks() as tasks:
        agent = _Agent(server.client, access, cluster, settings, folders, engine, tasks)
        try:
            await agent.start()
            ready()
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:  # whatever else ends us, pods of a former life must not pay for it
            await agent.leave()
            raise


async def clear(settings: Settings, folder: Path) -> None:
    """End what an agent that was killed has left; the next one starts it again."""
    folders = Folders(folder)
    if not folders.agent.is_dir():
        return
    pod_state.mark_drained(folders.pods)
    engine = await engines.start(settings.runner, folder)
    await engine.adopt()
    await engine.stop()
    inmemory.clear(folders.pods)


async def _cluster(client: Client) -> str:
    """What no other cluster is called, as is the custom."""
    return text(await client.find("namespaces", "kube-system", ""), "metadata", "uid")


def _now() -> datetime:
    return datetime.now(UTC)


class _Agent:
    """The parts and how they hang together."""

    def __init__(
        self,
        client: Client,
        access: Api,
        cluster: str,
        settings: Settings,
        folders: Folders,
        engine: NodeEngine,
        tasks: Tasks,
    ) -> None:
        self._client, self._settings, self._folders = client, settings, folders
        self._api, self._engine, self._tasks = access, engine, tasks
        self._pods, self._services, self._claims = Cache(), Cache(), Cache()
        self._reclaiming = Reclaiming(ClaimFolders(folders.claims, cluster), self._pods)
        self._recorder = Recorder(client, _now)
        self._machine = machine.look(folders.root)
        self._plans = node.plans(self._machine, settings.nodes)
        self._registration = Registration(client, self._machine, self._plans, engine.features, _now)
        self._site = self._make_site()
        self._tenants = Tenants(self._site, {plan.name for plan in self._plans}, self._pods, tasks)

    def _make_site(self) -> Site:
        folders = self._folders
        return Site(
            client=self._client,
            engine=self._engine,
            objects=Objects(self._client, self._tasks),
            addresses=Addresses(self._engine.network),
            hosts=HostsFiles(folders.hosts, self._api.line),
            folders=folders,
            settings=self._settings,
            event=lambda *event: self._recorder.record(_COMPONENT, *event),
            learn=self._learn,
            clock=_now,
            host_address=self._machine.address,
            api=self._api,
            claims=self._reclaiming,
            devices=Devices({plan.name: plan.devices for plan in self._plans}),
            precedence=Precedence(),
            home=sys.prefix,
            allocatable={plan.name: plan.capacity for plan in self._plans},
        )

    def _learn(self, pod: Object) -> None:
        self._pods.learn(pod)

    async def start(self) -> None:
        inmemory.clear_forsaken()
        self._tenants.remember(await self._engine.adopt())
        self._tasks.keep("events", self._recorder.run)
        await self._watch_services()
        await self._registration.register()
        await self._watch_claims()
        await self._watch_pods()
        self._tasks.keep("data of claims", lambda: self._reclaiming.run(self._claims))
        self._tasks.keep("leases", self._registration.keep)
        self._tasks.keep("logs kept", self._sweep)
        await self._serve()

    async def _watch_services(self) -> None:
        self._services.listen(self._site.hosts.see_service)
        await self._follow("services", self._services)

    async def _watch_claims(self) -> None:
        self._claims.listen(self._reclaiming.see)
        await self._follow("persistentvolumeclaims", self._claims)

    async def _watch_pods(self) -> None:
        self._pods.listen(self._tenants.see)
        self._pods.listen(self._reclaiming.see_pod)
        self._site.objects.listen(self._tenants.refresh)
        await self._follow("pods", self._pods)
        await self._tenants.forget_strangers()

    async def _follow(self, kind: str, cache: Cache) -> None:
        informer = Informer(self._client, await self._client.resource(kind), cache)
        self._tasks.keep(f"watch {kind}", informer.run)
        await informer.synced.wait()

    async def _serve(self) -> None:
        listening = asyncio.Event()
        path, logs = self._folders.root / "agent.sock", self._folders.logs
        self._tasks.start("serve", serving.serve(path, self._engine, self._tenants, logs, listening.set))
        await listening.wait()

    async def _sweep(self) -> None:
        rule = retention.Rule(timedelta(seconds=self._settings.keep_logs_seconds))
        while True:
            await asyncio.to_thread(retention.sweep, self._folders.logs, rule, self._tenants.alive, _now())
            await asyncio.sleep(_SWEEP_SECONDS)

    async def leave(self) -> None:
        """End all pods, then everything of the engine's; the server may be gone by now."""
        await self._tenants.drain(DRAIN_SECONDS)
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._registration.leave()
                await self._recorder.drain(_FAREWELL_SECONDS / 2)
        except (faults.Fault, Failure, TimeoutError) as trouble:
            log.info("the server was not told that the node leaves: %s", trouble)
        await self._engine.stop()
        inmemory.clear(self._folders.pods)
