"""One v1 job and its surroundings, for tests of the controller's decisions; the test plays the nodes.

The server's part is a model (names are unique, placed pods take their time to go); the decisions are the real
ones. A write of the status that changes nothing but times is counted as the mistake it would be.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from tests.pure.v1jobs.v1_objects import a_job
from trainshed.controllers.v1jobs import desired
from trainshed.controllers.v1jobs.plan import Event, Observed, Plan
from trainshed.kinds.kubeflow.families import PYTORCH, Family
from trainshed.kinds.reading import entries, mapping
from trainshed.kube import conditions
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import JSON, Object, copied, plant, text

START = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
NODE = "node-1"


class World:
    def __init__(self, family: Family = PYTORCH, spec: Object | None = None, **counts: int) -> None:
        self.family = family
        self.job = a_job(family, spec, **(counts or {"Master": 1, "Worker": 2}))
        self.pods: dict[str, Object] = {}
        self.services: dict[str, Object] = {}
        self.events: list[Event] = []
        self.told: set[str] = set()
        self.now = START
        self.made = 0
        self.is_gone = False

    # --- the job ---

    def policy(self, policy: str, *types: str) -> World:
        """The restart policy of these types, or of all."""
        for type, replica in self.job["spec"][self.family.replicas].items():
            if type in types or not types:
                replica["restartPolicy"] = policy
        return self

    def run_policy(self, **given: JSON) -> World:
        self.job["spec"].setdefault("runPolicy", {}).update(given)
        return self

    def scale(self, type: str, count: int) -> World:
        self.job["spec"][self.family.replicas][type]["replicas"] = count
        return self

    # --- the controller ---

    def observed(self) -> Observed:
        pods, services = (tuple(map(copied, shelf.values())) for shelf in (self.pods, self.services))
        return Observed(self.family, copied(self.job), pods, services, self.now)

    def plan(self) -> Plan:
        return desired.plan(self.observed())

    def step(self) -> Plan:
        """One pass, carried out."""
        plan = self.plan()
        self.is_gone |= plan.expires
        for obj in plan.deletes:
            self.delete(obj)
        for obj in plan.creates:
            self.create(obj)
        for mark in plan.marks:
            self.pods[text(mark.pod, "metadata", "name")]["metadata"]["annotations"] |= mark.annotations
        if plan.status is not None:
            self.job["status"] = copied(plan.status)
        for event in plan.events:
            if not event.once or event.once not in self.told:
                self.told |= {event.once}
                self.events.append(event)
        return plan

    def settle(self, most: int = 12) -> World:
        """Passes until there is nothing to do; nothing moves meanwhile, but time does."""
        for _ in range(most):
            plan = self.step()
            self.now += timedelta(seconds=1)
            if not (plan.creates or plan.deletes or plan.marks or plan.status):
                return self
        raise AssertionError(f"no end after {most} passes: {self.plan()}")

    # --- the server ---

    def create(self, obj: Object) -> None:
        shelf, name = self._shelf(obj), text(obj, "metadata", "name")
        assert name not in shelf, f"{obj['kind']} {name} is there already"
        self.made += 1
        made = copied(obj)
        made["metadata"] |= {"uid": f"uid-{self.made}", "creationTimestamp": timestamp(self.now)}
        if obj["kind"] == "Pod":
            made["status"] = {"phase": "Pending"}
        shelf[name] = made

    def delete(self, obj: Object) -> None:
        """A pod that has a node takes its time; everything else is gone at once."""
        shelf, name = self._shelf(obj), text(obj, "metadata", "name")
        found = shelf[name]
        assert not text(found, "metadata", "deletionTimestamp"), f"{name} is deleted twice"
        if text(found, "spec", "nodeName"):
            gone = timestamp(self.now + timedelta(seconds=30))
            found["metadata"] |= {"deletionTimestamp": gone, "deletionGracePeriodSeconds": 30}
        else:
            del shelf[name]

    def remove(self, name: str) -> World:
        """Somebody deletes a pod."""
        self.delete(self.pods[name])
        return self

    def sweep(self) -> World:
        """The nodes have ended what was deleted."""
        leaving = [name for name, pod in self.pods.items() if text(pod, "metadata", "deletionTimestamp")]
        for name in leaving:
            del self.pods[name]
        return self

    def _shelf(self, obj: Object) -> dict[str, Object]:
        return self.pods if obj["kind"] == "Pod" else self.services

    # --- the nodes, played by hand ---

    def run(self, *names: str, restarts: int = 0) -> World:
        return self._report(names, "Running", {"running": {}}, restarts)

    def succeed(self, *names: str) -> World:
        return self._report(names, "Succeeded", {"terminated": {"exitCode": 0}})

    def fail(self, *names: str, code: int = 1, message: str = "") -> World:
        ended = {"exitCode": code, "message": message, "finishedAt": timestamp(self.now)}
        return self._report(names, "Failed", {"terminated": ended})

    def evict(self, *names: str) -> World:
        """Failed as a whole: no container tells how it ended."""
        for pod in self._chosen(names):
            pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}
        return self

    def _report(self, names: Iterable[str], phase: str, state: Object, restarts: int = 0) -> World:
        for pod in self._chosen(names):
            container = {"name": self.family.container, "restartCount": restarts, "state": state}
            pod["spec"]["nodeName"] = NODE
            pod["status"] = {"phase": phase, "containerStatuses": [container]}
        return self

    def _chosen(self, names: Iterable[str]) -> list[Object]:
        return [self.pods[f"j-{name}"] for name in names] or [*self.pods.values()]

    # --- what a test looks at ---

    @property
    def status(self) -> Object:
        return mapping(self.job, "status")

    def conditions(self) -> dict[str, str]:
        """In their order."""
        return {one["type"]: one["status"] for one in entries(self.status, "conditions")}

    def condition(self, type: str) -> Object:
        found = conditions.find(self.status.get("conditions"), type)
        assert found is not None, f"no condition {type} in {self.conditions()}"
        return found

    def counts(self, type: str) -> Object:
        given = mapping(self.status, "replicaStatuses", type)
        return {name: value for name, value in given.items() if name != "selector"}

    def reasons(self, type: str = "") -> list[str]:
        return [event.reason for event in self.events if not type or event.type == type]

    def present(self) -> set[str]:
        """The pods that are there to stay."""
        return {
            name.removeprefix("j-")
            for name, pod in self.pods.items()
            if not text(pod, "metadata", "deletionTimestamp")
        }


def a_world(family: Family = PYTORCH, /, **counts: int) -> World:
    """A job that has just been taken note of: its pods wait."""
    return World(family, None, **counts).settle()


def running(family: Family = PYTORCH, /, **counts: int) -> World:
    return a_world(family, **counts).run().settle()


def planted(world: World, value: JSON, *path: str) -> World:
    plant(world.job, value, *path)
    return world
