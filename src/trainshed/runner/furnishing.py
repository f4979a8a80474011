"""What a pod needs around it before a container can start: folder, address, network, volumes, devices."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from trainshed.client.failures import Failure
from trainshed.kinds.reading import entries, number
from trainshed.kube import faults
from trainshed.kube.objects import Object, dig, text
from trainshed.runner import environment, images, mpi, pod_plan, pod_state, pod_status
from trainshed.runner.environment import Reference, Sources
from trainshed.runner.hosts import Sight
from trainshed.runner.images import Environment, NoEnvironment
from trainshed.runner.logs import kept
from trainshed.runner.plan import SHM_BYTES, ContainerPlan, Mount, PodPlan
from trainshed.runner.pod_plan import CannotPlan, Places, Surroundings
from trainshed.runner.pod_state import PodState
from trainshed.runner.site import Site
from trainshed.runner.volumes import inmemory, mounts, preparing, subpaths, wanted
from trainshed.runner.volumes.mounts import Prepared
from trainshed.runner.volumes.payloads import Tokens
from trainshed.runner.volumes.preparing import Grounds
from trainshed.runner.volumes.wanted import Files, Memory, Volume

log = logging.getLogger(__name__)

_RETRY_SECONDS = 15.0
_MAIN_SIGHT: dict[str, Sight] = {"process": "all"}
"""Names in the words of a plain process become addresses once, when it starts."""


class NotFurnished(Exception):
    """Something is missing around the pod; told as an event with this reason."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class Pod(Protocol):
    """What is furnished."""

    pod: Object
    site: Site
    address: str

    @property
    def uid(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def folder(self) -> Path: ...

    def termination_log(self, name: str, attempt: int) -> Path: ...

    def log_file(self, name: str, attempt: int) -> Path: ...


class Furnishing:
    def __init__(self, owner: Pod) -> None:
        self._owner, self._site = owner, owner.site
        self.references: set[Reference] = set()
        """What the pod is made from besides itself."""
        self.stale = asyncio.Event()
        """Set when any of that changed."""
        self._environments: dict[str, Environment] = {}
        self._volumes: list[Volume] = []
        self._prepared: dict[str, Prepared] = {}
        self._plan: PodPlan | None = None
        self._troubled = False
        self._is_removed = False

    # --- pod ---

    async def furnish(self) -> None:
        """Make everything that is shared; harmless when it is there. Raises `NotFurnished`."""
        try:
            self._volumes = wanted.volumes(self._owner.pod)
        except wanted.Refused as why:
            raise NotFurnished("FailedMount", str(why)) from why
        self._note()
        plan = self._pod_plan()
        outcomes = await asyncio.gather(self._open(plan), self._prepare(), return_exceptions=True)
        for trouble in outcomes:
            if trouble is not None:
                raise trouble
        self._plan = plan

    def _note(self) -> None:
        owner, site = self._owner, self._site
        state = PodState(
            owner.namespace,
            text(owner.pod, "metadata", "name"),
            owner.address,
            text(owner.pod, "spec", "nodeName"),
            dict(site.devices.assign(owner.pod)),
        )
        began = pod_status.began(owner.pod) or site.clock()
        try:
            pod_state.write(owner.folder, state)
            kept.write(site.folders.logs, kept.note_of(owner.pod, started=began))
        except OSError as why:
            log.warning("pod %s is not noted: %s", owner.uid, why)

    def _pod_plan(self) -> PodPlan:
        owner, site = self._owner, self._site
        for name in pod_status.names(owner.pod):
            self._hosts(name)  # kept up to date from now on, also for what a former agent started
        site.hosts.flush()
        shm = wanted.shm_bytes(owner.pod, self._volumes, SHM_BYTES)
        places = Places(str(owner.folder), self._hosts(""))
        folder = inmemory.folder(owner.folder)
        memory = tuple((str(folder / one.name), one.size) for one in self._volumes if isinstance(one, Memory))
        plan = pod_plan.pod_plan(owner.pod, owner.address, places, shm)
        return dataclasses.replace(plan, memory=memory)

    def _hosts(self, container: str) -> str:
        """The hosts file of a container; those that run before the others may wait for pods to be ready."""
        owner, sight = self._owner, _MAIN_SIGHT.get(self._site.engine.features.name, "usual")
        if pod_status.part_of(owner.pod, container) == "init":
            sight = "ready"
        return str(self._site.hosts.path(owner.namespace, sight))

    async def _open(self, plan: PodPlan) -> None:
        try:
            await self._site.engine.open_pod(plan)
        except OSError as why:
            raise NotFurnished("FailedCreatePodSandBox", f"Failed to create pod sandbox: {why}") from why

    async def _prepare(self) -> None:
        try:
            sources, tokens = await self._contents()
        except (faults.Fault, Failure) as trouble:
            raise NotFurnished(
                "FailedMount", f"cannot fetch what volumes are made from: {trouble}"
            ) from trouble
        dated = self._site.clock().strftime("%Y_%m_%d_%H_%M_%S")
        try:
            self._prepared = preparing.prepare(
                self._owner.pod, self._volumes, self._grounds(), sources, tokens, dated
            )
        except preparing.NotReady as why:
            await self._follow()
            raise NotFurnished("FailedMount", str(why)) from why

    async def _contents(self) -> tuple[Sources, Tokens]:
        """What volumes are made from, as it is now."""
        found = {reference for volume in self._volumes for reference in wanted.references(volume)}
        self.references |= found
        return await asyncio.gather(self._sources(found), self._tokens())

    async def _sources(self, references: Collection[Reference]) -> Sources:
        owner = self._owner
        objects = await self._site.objects.fetch(owner.namespace, references) if references else {}
        return self._site.sources(owner.pod, owner.address, objects)

    async def _tokens(self) -> Tokens:
        wishes = self._token_wishes()
        made = await asyncio.gather(*(self._site.objects.token(self._owner.pod, wish) for _, wish in wishes))
        named = [(volume, text(wish, "path")) for volume, wish in wishes]
        return dict(zip(named, made, strict=True))

    def _token_wishes(self) -> list[tuple[str, Object]]:
        return [
            (volume.name, source["serviceAccountToken"])
            for volume in self._volumes
            if isinstance(volume, Files)
            for source in volume.sources
            if isinstance(source.get("serviceAccountToken"), dict)
        ]

    def _grounds(self) -> Grounds:
        return Grounds(self._owner.folder, self._claim_folder)

    def _claim_folder(self, claim: Object) -> Path:
        owner, claims = self._owner, self._site.claims
        is_in_use = claims.is_in_use(owner.namespace, text(claim, "metadata", "name"), but_by=owner.uid)
        return claims.folders.ready(claim, is_in_use=is_in_use)

    async def _follow(self) -> None:
        await self._site.objects.follow({kind for kind, _ in self.references})

    async def keep_fresh(self) -> None:
        """Bring the files of volumes up to date whenever what they are made from changes."""
        if not any(isinstance(volume, Files) for volume in self._volumes):
            return
        await self._follow()
        lifetimes = [number(wish, "expirationSeconds") or 3600 for _, wish in self._token_wishes()]
        is_fresh = True
        while True:
            try:
                async with asyncio.timeout(refresh_after(lifetimes, is_fresh=is_fresh)):
                    await self.stale.wait()
            except TimeoutError:
                pass
            self.stale.clear()
            is_fresh = await self._refresh()

    async def _refresh(self) -> bool:
        """Whether that could be done; not, while the server is away."""
        try:
            sources, tokens = await self._contents()
        except (faults.Fault, Failure) as trouble:
            log.info("volumes of pod %s are not refreshed: %s", self._owner.uid, trouble)
            return False
        if self._is_removed:  # meanwhile; nobody would remove it again
            return True
        dated = self._site.clock().strftime("%Y_%m_%d_%H_%M_%S")
        troubles = preparing.refresh(self._owner.pod, self._volumes, self._grounds(), sources, tokens, dated)
        if troubles and not self._troubled:
            log.warning("volumes of pod %s are not refreshed: %s", self._owner.uid, "; ".join(troubles))
        self._troubled = bool(troubles)
        return not troubles

    async def remove(self) -> None:
        """Give everything back."""
        self._is_removed = True
        self._site.devices.release(self._owner.uid)
        owner = self._owner
        await asyncio.to_thread(pod_state.remove, owner.folder)

    # --- containers ---

    async def container(self, spec: Object, attempt: int) -> ContainerPlan:
        """What one run of a container needs; raises `CannotPlan`."""
        if not self._is_furnished():
            await self._catch_up()
        chosen = self._environment(spec)
        found = set(environment.references(spec))
        self.references |= found
        try:
            sources = await self._sources(found)
        except (faults.Fault, Failure) as trouble:
            why = f"cannot fetch what the environment is made from: {trouble}"
            raise CannotPlan("CreateContainerConfigError", why) from trouble
        try:
            plan = self._container_plan(spec, attempt, chosen, sources)
        except CannotPlan:
            await self._follow()
            raise
        except (OSError, ValueError) as why:
            raise CannotPlan("CreateContainerError", f"cannot prepare the container: {why}") from why
        self._environments[text(spec, "name")] = chosen
        return plan

    def _is_furnished(self) -> bool:
        return self._plan is not None and all(os.path.exists(one.path) for one in self._prepared.values())

    async def _catch_up(self) -> None:
        """A new run needs all that is around it: a former agent made it, or somebody took it away."""
        try:
            await self.furnish()
        except NotFurnished as why:
            raise CannotPlan("CreateContainerError", why.message) from why

    def pulled(self, spec: Object) -> str:
        """What an image turned out to be, in words."""
        chosen = self._environments[text(spec, "name")]
        always = "; nothing is pulled" if text(spec, "imagePullPolicy") == "Always" else ""
        return f'Container image "{text(spec, "image")}" is {chosen.words()}{always}'

    def images(self) -> dict[str, str]:
        return {name: chosen.id for name, chosen in self._environments.items()}

    def _environment(self, spec: Object) -> Environment:
        try:
            return self._site.environment(self._owner.pod, spec)
        except NoEnvironment as why:
            raise CannotPlan(why.reason, str(why)) from why

    def _container_plan(
        self, spec: Object, attempt: int, chosen: Environment, sources: Sources
    ) -> ContainerPlan:
        owner, name = self._owner, text(spec, "name")
        shared = dataclasses.replace(self._plan or self._pod_plan(), hosts=self._hosts(name))
        around = Surroundings(
            chosen,
            sources,
            (*self._site.mounts(chosen), *self._mounts(spec, sources)),
            self._site.devices.visible(owner.pod, name),
            self._site.inherited(),
            os.geteuid(),
        )
        places = Places(
            shared.folder,
            shared.hosts,
            str(owner.log_file(name, attempt)),
            _made(owner.termination_log(name, attempt)),
        )
        plan = pod_plan.container_plan(shared, owner.pod, mpi.completed(spec), attempt, places, around)
        plan = _as_somebody(plan, chosen, owner.pod, spec)
        return mpi.adapted(
            plan, owner.pod, spec, str(mpi.FOLDER), os.path.exists, is_foreign=self._has_foreign_root
        )

    def _has_foreign_root(self) -> bool:
        """Whether a container of the pod has another tree than this machine's."""
        containers = entries(self._owner.pod, "spec", "containers")
        try:
            return any(self._site.environment(self._owner.pod, one).root != "/" for one in containers)
        except NoEnvironment:
            return False

    def _mounts(self, spec: Object, sources: Sources) -> tuple[Mount, ...]:
        def expand(template: str) -> str:
            if not template:
                return ""
            variables = environment.variables(self._owner.pod, spec, sources)
            return pod_plan.expanded(spec, variables, template)

        pod_plan.sound(spec)
        try:
            return mounts.mounts(spec, self._prepared, expand, subpaths.ready)
        except (subpaths.Outside, environment.Unresolved) as why:
            raise CannotPlan("CreateContainerConfigError", str(why)) from why


def refresh_after(lifetimes: Sequence[int], *, is_fresh: bool) -> float | None:
    """Seconds until files are to be looked at though nothing changed: tokens end, failures may pass."""
    if not is_fresh:
        return _RETRY_SECONDS
    return min(lifetimes) * 0.8 if lifetimes else None


def _made(path: Path) -> str:
    """An empty file that any user may write to: the container's last words. No path where it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.touch()
            path.chmod(0o666)
    except OSError as why:
        log.warning("there will be no last words in %s: %s", path, why)
        return ""
    return str(path)


def _as_somebody(plan: ContainerPlan, chosen: Environment, pod: Object, spec: Object) -> ContainerPlan:
    """A user of an image that is not here may be shut out of what stands for it; the agent's own is not."""
    if plan.user is None or plan.root != "/" or images.is_open_to(chosen, plan.user, plan.group):
        return plan
    if any(dig(holder, "securityContext", "runAsNonRoot") is True for holder in (spec, pod.get("spec"))):
        why = f"runAsNonRoot is asked for, and user {plan.user} may not read {chosen.words()}"
        raise CannotPlan("CreateContainerConfigError", why)
    return dataclasses.replace(plan, user=None, group=None)
