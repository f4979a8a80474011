"""Keeps the stored rules of aggregated ClusterRoles equal to what the roles they select add up to.

Decisions do not wait for this (the authorizer computes the sums itself); it is what people see.
"""

from __future__ import annotations

from trainshed.apiserver import writes
from trainshed.apiserver.access import aggregation
from trainshed.apiserver.access.lookup import CLUSTER_ROLES
from trainshed.apiserver.housekeeping import Housekeeper
from trainshed.apiserver.state import State, loaded
from trainshed.kinds.kind import Kind
from trainshed.store.records import Event, Key

_WRITER = writes.Writer("clusterrole-aggregation-controller", writes.SYSTEM, track=False)
"""The sum has no owner: Kubeflow's manifests say `rules: []`, and applying them must be no conflict."""


class Aggregates:
    def __init__(self, state: State, keeper: Housekeeper) -> None:
        self._state, self._keeper = state, keeper

    def start(self) -> None:
        self._keeper.add("add up cluster roles", self._add_up)

    def notice(self, kind: Kind, event: Event) -> None:
        if event.record.key.resource == CLUSTER_ROLES:
            self.start()

    async def _add_up(self) -> None:
        kind = self._state.registry.stored(CLUSTER_ROLES)
        roles = {record.key.name: loaded(record) for record in self._state.store.list(CLUSTER_ROLES, None)}
        for name, rules in aggregation.stale(roles):
            newest = self._state.store.head(Key(CLUSTER_ROLES, "", name))
            if kind is not None and newest is not None:
                await writes.replace(self._state, kind, newest, {**loaded(newest), "rules": rules}, _WRITER)
