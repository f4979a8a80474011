"""Who has which GPU of which node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainshed.kube.objects import Object, text
from trainshed.runner import gpus
from trainshed.runner.gpus import Assignment


@dataclass(slots=True)
class Devices:
    by_node: Mapping[str, tuple[str, ...]]
    _held: dict[str, tuple[str, Assignment]] = field(default_factory=dict)

    def assign(self, pod: Object) -> Assignment:
        """The devices of each container of a pod; the same ones whenever it is asked."""
        uid, node = text(pod, "metadata", "uid"), text(pod, "spec", "nodeName")
        if uid not in self._held:
            self._held[uid] = node, gpus.assign(pod, self.by_node.get(node, ()), self._in_use(node))
        return self._held[uid][1]

    def keep(self, uid: str, node: str, assignment: Assignment) -> None:
        """Take note of what was assigned in a former life."""
        self._held[uid] = node, assignment

    def release(self, uid: str) -> None:
        self._held.pop(uid, None)

    def visible(self, pod: Object, container: str) -> tuple[str, ...] | None:
        """What a container may see; None where there is nothing to hide."""
        if not self.by_node.get(text(pod, "spec", "nodeName")):
            return None
        return self.assign(pod).get(container, ())

    def _in_use(self, node: str) -> list[str]:
        held = (one for place, one in self._held.values() if place == node)
        return [device for one in held for device in {each for taken in one.values() for each in taken}]
