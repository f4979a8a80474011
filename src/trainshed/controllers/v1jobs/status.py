"""The status of a job in the making, and what is to be told about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

from trainshed.controllers.v1jobs import conditions, naming
from trainshed.controllers.v1jobs.conditions import (
    CREATED,
    FAILED,
    RESTARTING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
)
from trainshed.controllers.v1jobs.counting import Count
from trainshed.controllers.v1jobs.plan import Event
from trainshed.kinds.kubeflow.families import MPI, Family
from trainshed.kinds.reading import mapping, number
from trainshed.kube import conditions as lists
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object, copied, text

_RESUMED: Final = "Resumed"
_LACKING: Final = " Pods cannot be made: "


class Draft:
    def __init__(self, family: Family, job: Object, now: datetime) -> None:
        self.family, self.job, self.now = family, job, timestamp(now)
        self.name, self.namespace = text(job, "metadata", "name"), text(job, "metadata", "namespace")
        self.before = mapping(job, "status")
        self.status: Object = copied(self.before)
        self.events: list[Event] = []
        if lists.find(self.conditions, CREATED) is None:
            self._put(CREATED, f"{family.kind} {self.name} is created.")

    @property
    def conditions(self) -> list[Object]:
        found = self.status.get("conditions")
        return found if isinstance(found, list) else []

    def has(self, type: str) -> bool:
        return lists.is_true(self.conditions, type)

    @property
    def is_finished(self) -> bool:
        return conditions.is_finished(self.status)

    def changed(self) -> Object | None:
        """The whole new status, if it says anything new."""
        known = self.before.get("conditions")
        steady = conditions.steadied(known if isinstance(known, list) else [], self.conditions)
        wanted = {**self.status, "conditions": steady}
        return None if wanted == self.before else wanted

    # --- what is said ---

    def lack(self, whys: Sequence[str]) -> None:
        """Say why pods are missing that the others may wait for; no end, as the job may yet be changed."""
        created = lists.find(self.conditions, CREATED)
        if created is None:
            return
        said = text(created, "message").partition(_LACKING)[0]
        wanted = f"{said}{_LACKING}{'; '.join(whys)}" if whys else said
        if wanted != text(created, "message"):
            created |= {"message": wanted, "lastUpdateTime": self.now}

    def begin(self) -> None:
        """The job's time counts from now, unless it does already."""
        self.status["startTime"] = self.status.get("startTime") or self.now

    def run(self, message: str) -> None:
        if self._put(RUNNING, message) and self.family is MPI:
            self.tell("Normal", "Running", f"MPIJob {self.namespace}/{self.name} is running")

    def restart(self, message: str, whom: str) -> None:
        """Told once for each pod, or group of pods, that has to be replaced."""
        if not self.has(FAILED):
            self._put(RESTARTING, message)
            self.events.append(Event("Warning", f"{self.family.kind}{RESTARTING}", message, f"again {whom}"))

    def succeed(self, message: str) -> None:
        if self._put(SUCCEEDED, message):
            self._complete()
            self.tell("Normal", "Succeeded", message)
            if self.family is MPI:
                said = f"MPIJob {self.namespace}/{self.name} successfully completed."
                self.events.append(Event("Normal", f"{self.family.plural}Succeeded", said))

    def fail(self, message: str, type: Literal["Normal", "Warning"] = "Normal") -> None:
        if self._put(FAILED, message):
            self._complete()
            self.tell(type, "Failed", message)

    def suspend(self) -> None:
        """Pods are taken away; how those that had ended did is still told."""
        message = f"{self.family.kind} {self.name} is suspended."
        self.status["replicaStatuses"] = {
            type: _without_active(count) for type, count in mapping(self.status, "replicaStatuses").items()
        }
        if self.has(RUNNING):
            self._put(RUNNING, message, "False", SUSPENDED)
        if self._put(SUSPENDED, message):
            self.tell("Normal", SUSPENDED, message)

    def resume(self) -> None:
        """The job's time begins anew."""
        message = f"{self.family.kind} {self.name} is resumed."
        if self.has(SUSPENDED) and self._put(SUSPENDED, message, "False", _RESUMED):
            self.status["startTime"] = self.now
            self.tell("Normal", _RESUMED, message)

    def count(self, counts: Mapping[str, Count]) -> None:
        self.status["replicaStatuses"] = {type: self._stated(type, one) for type, one in counts.items()}

    def conclude_counts(self) -> None:
        """What still ran when the job succeeded has done its part."""
        self.status["replicaStatuses"] = {
            type: _as_succeeded(count) for type, count in mapping(self.status, "replicaStatuses").items()
        }

    def explain(self, why: str) -> None:
        """Add to a failure of this pass what one can do something about."""
        failed = lists.find(self.conditions, FAILED)
        if not why or failed is None or lists.is_true(self.before.get("conditions"), FAILED):
            return
        said = text(failed, "message")
        failed["message"] = f"{said.removesuffix('.')}. First failure: {why}"
        self.tell("Warning", "PodFailed", why)

    def tell(self, type: Literal["Normal", "Warning"], word: str, message: str) -> None:
        self.events.append(Event(type, f"{self.family.kind}{word}", message))

    # --- how ---

    def _put(self, type: str, message: str, status: str = "True", word: str = "") -> bool:
        """Set a condition; whether that was any news."""
        reason = f"{self.family.kind}{word or type}"
        if self.family is MPI and type == FAILED:
            # A slip of upstream's that clients may know by now.
            reason = f"{self.family.kind}{reason}"
        wanted = {"type": type, "status": status, "reason": reason, "message": message}
        before, after = self.conditions, conditions.put(self.conditions, wanted, self.now)
        self.status["conditions"] = after
        return after != before

    def _complete(self) -> None:
        self.status["completionTime"] = self.status.get("completionTime") or self.now

    def _stated(self, type: str, count: Count) -> Object:
        if not self.family.tells_selector:
            return count.stated()
        return {**count.stated(), "selector": naming.selector(self.family, self.job, type)}


def lacking(message: str) -> str:
    """What `Draft.lack` has said in the message of a condition, if anything."""
    _, said, whys = message.partition(_LACKING)
    return f"{said}{whys}".strip()


def _without_active(count: Object) -> Object:
    return {name: value for name, value in count.items() if name != "active"}


def _as_succeeded(count: Object) -> Object:
    done = (number(count, "active") or 0) + (number(count, "succeeded") or 0)
    rest = {name: value for name, value in count.items() if name not in ("active", "succeeded")}
    return {**({"succeeded": done} if done else {}), **rest}
