"""ResourceQuotas at work: they refuse what does not fit, and their status says what is taken.

What is taken is counted from what is queued for the store, in the same turn of the event loop as the decision
that it fits: two requests never both get the last of something. The counts are made anew from the stored
objects at start, when a quota appears or changes, and when the store has lost queued writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from trainshed.apiserver import writes
from trainshed.apiserver.admission import Request
from trainshed.apiserver.limits import forbidden
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.core import usage
from trainshed.kinds.core.budgets import Budgets
from trainshed.kinds.kind import Kind
from trainshed.kinds.reading import mapping
from trainshed.kube.objects import Object
from trainshed.store.faults import Closed
from trainshed.store.records import Key, Record

QUOTAS = "resourcequotas"
_NOTHING: Mapping[str, Object | None] = {}
_OVER = 0.01
"""Seconds after which a moment has surely passed."""


class Quotas:
    def __init__(self, state: State) -> None:
        self._state = state
        self._spaces: dict[str, Budgets] = {}
        self._epoch = state.store.epoch
        self._stale: set[Key] = set()
        self._writing: set[Key] = set()
        self._is_due = False
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def start(self) -> None:
        """Count everything that is there; statuses that say otherwise are put right."""
        self._epoch = self._state.store.epoch
        self._spaces.clear()
        for namespace in {record.key.namespace for record in self._state.store.list(QUOTAS)}:
            self._load(namespace)

    # --- deciding -----------------------------------------------------------------------------------------

    def check(self, request: Request) -> None:
        """Raises the refusal of a quota; called last, when nothing else is left to refuse."""
        if self._epoch != self._state.store.epoch:
            self.start()
        budgets = self._spaces.get(request.namespace)
        resource = request.kind.stored_as
        if budgets is None or request.subresource or resource in usage.IGNORED:
            return
        if resource == "pods" and request.old is not None:  # what it needs is settled, whatever its scope
            return
        if why := budgets.refusal(resource, request.obj, request.old, self._state.now()):
            raise forbidden(request, why)

    # --- counting -----------------------------------------------------------------------------------------

    def concern(self, key: Key) -> bool:
        return key.namespace in self._spaces or key.resource == QUOTAS

    def note(self, key: Key, obj: Object | None) -> None:
        """What a key is about to be, None for nothing; called as the write is queued."""
        if key.resource == QUOTAS and self._is_news(key, obj):
            self._load(key.namespace, {key.name: obj})
        budgets = self._spaces.get(key.namespace)
        if budgets is None or key.resource in usage.IGNORED:
            return
        if budgets.concern(key.resource) and budgets.note((key.resource, key.name), obj, self._state.now()):
            self._show(key.namespace, budgets)
        if key.resource == "pods":
            self._look_again_later(key, obj)
        elif key.resource == QUOTAS and obj is not None:
            self._show_one(key)

    def _is_news(self, key: Key, obj: Object | None) -> bool:
        known = self._spaces.get(key.namespace)
        budget = known.each.get(key.name) if known else None
        return (obj is None) != (budget is None) or (
            budget is not None and obj is not None and budget.spec != mapping(obj, "spec")
        )

    def _load(self, namespace: str, changed: Mapping[str, Object | None] = _NOTHING) -> None:
        """Count a namespace's objects; the quotas that are just being written are not in the store yet."""
        store = self._state.store
        stored = {record.key.name: loaded(record) for record in store.heads(QUOTAS, namespace)}
        quotas = [quota for quota in (stored | dict(changed)).values() if quota is not None]
        if not quotas:
            self._spaces.pop(namespace, None)
            return
        budgets = self._spaces[namespace] = Budgets(quotas)
        served = [kind.stored_as for kind in self._state.registry.homes() if kind.namespaced]
        budgets.begin(served)
        for resource in served:
            if resource not in usage.IGNORED and budgets.concern(resource):
                for record in store.heads(resource, namespace):
                    self._count(budgets, record)
        self._show(namespace, budgets)

    def _count(self, budgets: Budgets, record: Record) -> None:
        key, obj = record.key, loaded(record)
        budgets.note((key.resource, key.name), obj, self._state.now())
        if key.resource == "pods":
            self._look_again_later(key, obj)

    def _look_again_later(self, key: Key, pod: Object | None) -> None:
        """A pod that overstays stops to count, though nothing about it changes then."""
        if timer := self._timers.pop(key, None):
            timer.cancel()
        until = None if pod is None else usage.charged_until(pod)
        if until is not None and pod is not None and usage.is_charged(pod, now := self._state.now()):
            wait = (until - now).total_seconds() + _OVER
            self._timers[key] = asyncio.get_running_loop().call_later(wait, self._look_again, key)

    def _look_again(self, key: Key) -> None:
        self._timers.pop(key, None)
        record = self._state.store.head(key)
        if record is not None:
            self.note(key, loaded(record))

    # --- telling ------------------------------------------------------------------------------------------

    def _show(self, namespace: str, budgets: Budgets) -> None:
        for name in budgets.each:
            self._show_one(Key(QUOTAS, namespace, name))

    def _show_one(self, key: Key) -> None:
        """Once per turn of the event loop and before its writes are handed over: they share a commit.

        Of each quota one status is on its way at a time; what changes meanwhile is told by the next one.
        """
        self._stale.add(key)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._write_statuses)

    def _write_statuses(self) -> None:
        self._is_due = False
        ready = sorted(self._stale - self._writing)
        self._stale = self._stale & self._writing
        kind = self._state.registry.stored(QUOTAS)
        with suppress(Closed):  # what is not written now is counted at the next start
            for key in ready:
                self._write_status(key, kind)

    def _write_status(self, key: Key, kind: Kind | None) -> None:
        budgets, record = self._spaces.get(key.namespace), self._state.store.head(key)
        budget = budgets.each.get(key.name) if budgets else None
        if kind is None or record is None or budget is None:
            return
        quota, status = loaded(record), budget.status()
        if quota.get("status") != status:
            self._writing.add(key)
            written = writes.put_as_is(self._state, kind, record, {**quota, "status": status})
            written.add_done_callback(partial(self._written, key))

    def _written(self, key: Key, written: asyncio.Future[Record]) -> None:
        """A status the store could not take is written again when the counts are made anew."""
        self._writing.discard(key)
        if not written.cancelled():
            written.exception()
        if key in self._stale:
            self._show_one(key)
