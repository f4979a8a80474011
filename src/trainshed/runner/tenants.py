"""All pods this agent knows: every one has an address and a name, those bound here have a life."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable

from trainshed.aio.tasks import Tasks
from trainshed.kinds.reading import is_true
from trainshed.kube.objects import Object, text
from trainshed.loop.cache import Cache
from trainshed.runner import hosts, pod_state, pod_status
from trainshed.runner.engine import Found
from trainshed.runner.environment import Reference
from trainshed.runner.pod_life import PodLife
from trainshed.runner.pod_state import PodState
from trainshed.runner.serving import Run
from trainshed.runner.site import Site
from trainshed.runner.stops import Stop
from trainshed.runner.volumes import inmemory

log = logging.getLogger(__name__)

_FIRST_REST, _LONGEST_REST = 1.0, 30.0
_LEAVE_SECONDS = 5.0


class Tenants:
    def __init__(self, site: Site, nodes: Collection[str], pods: Cache, tasks: Tasks) -> None:
        self._site, self._nodes, self._pods, self._tasks = site, frozenset(nodes), pods, tasks
        self._lives: dict[str, PodLife] = {}
        self._working: dict[str, asyncio.Task[None]] = {}
        self._found: dict[str, list[Found]] = {}
        self._states: dict[str, PodState] = {}
        self._left: set[str] = set()
        self._is_draining = False

    # --- beginning ---

    def remember(self, found: Iterable[Found]) -> None:
        """Take note of what a former life left, before any pod is seen."""
        self._states = dict(pod_state.all_in(self._site.folders.pods))
        # An agent that was killed while it removed a pod's folder has left one without a state.
        self._left = pod_state.folders_in(self._site.folders.pods) | inmemory.left(self._site.folders.pods)
        for one in found:
            state = self._states.get(one.pod_uid)
            if state is None or not state.drained:
                self._found.setdefault(one.pod_uid, []).append(one)
        for uid, state in self._states.items():
            self._site.addresses.keep(uid, state.address)
            self._site.devices.keep(uid, state.node, state.devices)

    async def forget_strangers(self) -> None:
        """Once all pods are known: end what belongs to none of them, or to one that is over and done with."""
        known = {text(pod, "metadata", "uid") for pod in self._pods.list() if not pod_status.is_final(pod)}
        known |= self._lives.keys()
        left = self._left | self._found.keys()
        self._states, self._left = {}, set()
        for uid in left - known:
            log.info("pod %s is gone; what it left is removed", uid)
            await self._site.engine.close_pod(uid)
            await asyncio.to_thread(pod_state.remove, self._site.folders.pod(uid))
            self._release(uid)
        self._site.hosts.forget_strangers()

    # --- news ---

    def see(self, before: Object | None, after: Object | None) -> None:
        """A pod came, changed or went."""
        if after is None:
            if before is not None:
                self._lose(before)
            return
        uid = text(after, "metadata", "uid")
        if before is not None and text(before, "metadata", "uid") != uid:
            self._lose(before)
        self._name(uid, after)
        if text(after, "spec", "nodeName") in self._nodes:
            self._site.precedence.see(after)
            self._tend(uid, after)

    def _lose(self, pod: Object) -> None:
        uid = text(pod, "metadata", "uid")
        self._site.hosts.drop(uid, text(pod, "metadata", "namespace"))
        self._site.precedence.lose(pod)
        if uid in self._lives:
            self._lives[uid].vanish()
        else:
            self._release(uid)

    def _name(self, uid: str, pod: Object) -> None:
        if pod_status.is_final(pod):
            self._site.hosts.drop(uid, text(pod, "metadata", "namespace"))
        else:
            self._site.hosts.put(uid, hosts.host_of(pod, self._address(uid, pod)))

    def _address(self, uid: str, pod: Object) -> str:
        if is_true(pod, "spec", "hostNetwork"):
            return self._site.host_address
        return self._site.addresses.of(uid)

    def _tend(self, uid: str, pod: Object) -> None:
        if uid in self._lives:
            self._lives[uid].update(pod)
        elif not self._is_draining and (
            not pod_status.is_final(pod) or pod_status.awaits_confirmation(pod) or uid in self._found
        ):
            self._begin(uid, pod)

    def _begin(self, uid: str, pod: Object) -> None:
        found, state = self._found.pop(uid, []), self._states.get(uid)
        self._lives[uid] = life = PodLife(pod, self._site, self._address(uid, pod), found, state)
        name = f"pod {life.namespace}/{life.name}"
        task = self._working[uid] = self._tasks.start(name, self._live(life), forever=False)
        task.add_done_callback(lambda _: self._ended(uid))

    async def _live(self, life: PodLife) -> None:
        """See a pod through; should our own code fail it, look again at what there is and go on."""
        wait, now = _FIRST_REST, asyncio.get_running_loop().time
        while True:
            began = now()
            try:
                return await life.run()
            except Exception as why:
                log.exception("pod %s/%s was let down, will try again", life.namespace, life.name)
                wait = wait if now() - began < _LONGEST_REST else _FIRST_REST
                await life.rest(f"the node agent failed and will try again: {_words(why)}", wait)
            wait = min(_LONGEST_REST, wait * 2)
            if life.uid not in self.alive:
                return await self._abandon(life)
            life = self._lives[life.uid] = await self._next(life)

    async def _next(self, life: PodLife) -> PodLife:
        """Another life for the same pod, with all that runs of it and was asked of it."""
        found = [one for one in await self._adopted() if one.pod_uid == life.uid]
        later = PodLife(life.pod, self._site, life.address, found)
        later.go_on(life)
        return later

    async def _adopted(self) -> list[Found]:
        wait = _FIRST_REST
        while True:
            try:
                return await self._site.engine.adopt()
            except Exception:
                log.exception("the engine does not say what runs, will ask again")
            await asyncio.sleep(wait)
            wait = min(_LONGEST_REST, wait * 2)

    async def _abandon(self, life: PodLife) -> None:
        """The pod is gone from the server: nobody is left to be told anything."""
        try:
            await life.clean_up()
        except Exception:
            log.exception("what pod %s/%s left is not removed", life.namespace, life.name)

    def _ended(self, uid: str) -> None:
        self._lives.pop(uid, None)
        self._working.pop(uid, None)
        self._release(uid)

    def _release(self, uid: str) -> None:
        self._site.addresses.release(uid)
        self._site.devices.release(uid)

    def refresh(self, namespace: str, reference: Reference) -> None:
        """An object changed that pods may be made from."""
        for life in self._lives.values():
            if life.namespace == namespace and life.refers_to(reference):
                life.refresh()

    # --- ending ---

    async def drain(self, seconds: float) -> None:
        """End all pods, each with a little time; returns when none is left."""
        self._is_draining = True
        for life in self._lives.values():
            life.request(Stop("drained"), min(seconds, life.own_grace))
        if self._working:
            # Whoever is not done by then waits for a server that does not answer.
            await asyncio.wait(set(self._working.values()), timeout=seconds + _LEAVE_SECONDS)

    # --- looking in (serving.Lookup) ---

    def find(self, pod_uid: str, container: str) -> Run | None:
        life = self._lives.get(pod_uid)
        one = life.life(container) if life is not None else None
        if one is None or one.view.attempt is None:
            return None
        return Run(
            one.view.attempt,
            one.view.is_running,
            one.env,
            stdin=is_true(one.spec, "stdin"),
            stdin_once=is_true(one.spec, "stdinOnce"),
            tty=is_true(one.spec, "tty"),
        )

    async def ended(self, pod_uid: str, container: str, attempt: int) -> None:
        life = self._lives.get(pod_uid)
        one = life.life(container) if life is not None else None
        if one is not None:
            await one.idle(attempt)

    @property
    def alive(self) -> set[str]:
        return {text(pod, "metadata", "uid") for pod in self._pods.list()}


def _words(why: Exception) -> str:
    """One line for what went wrong, the innermost of a group."""
    while isinstance(why, ExceptionGroup):
        why = why.exceptions[0]
    lines = str(why).splitlines()
    return f"{type(why).__name__}: {lines[0]}" if lines else type(why).__name__
