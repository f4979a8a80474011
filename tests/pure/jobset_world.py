"""One JobSet and its surroundings, for tests of the controller's decisions; Jobs are played by hand.

The server's part is a model (names are unique, deletion in the foreground takes its time, patches merge); the
decisions in it are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from tests.pure.training_objects import a_jobset, a_replicated_job
from trainshed.controllers.jobset import desired
from trainshed.controllers.jobset.plan import Event, Observed, Patch, Plan
from trainshed.kinds.jobset import labels
from trainshed.kube import conditions, owners, patches
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import JSON, Object, copied, dig, plant

START = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


def a_rjob(name: str = "a", replicas: int = 1, pods: int = 1, **more: JSON) -> Object:
    """A replicated job as the schema leaves it."""
    found = a_replicated_job(name, [{"name": "main", "image": "example.com/image:1"}], replicas=replicas)
    found["template"]["spec"] |= {"parallelism": pods, "completions": pods}
    return {**found, **more}


def depends(*on: tuple[str, str]) -> list[Object]:
    return [{"name": name, "status": status} for name, status in on]


class World:
    def __init__(self, *jobs: Object, name: str = "js", **spec: JSON) -> None:
        self.jobset = a_jobset(*(jobs or (a_rjob(),)), name=name, **spec)
        self.jobset |= {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
        self.jobset["metadata"] |= {"uid": "uid-js", "generation": 1}
        self.jobs: dict[str, Object] = {}
        self.services: dict[str, Object] = {}
        self.claims: dict[str, Object] = {}
        self.events: list[Event] = []
        self.now = START
        self.writes = 0

    # --- the controller ---

    def observed(self) -> Observed:
        own = (job for job in self.jobs.values() if owners.is_controlled_by(job, self.jobset))
        names = frozenset(self.services), frozenset(self.claims)
        return Observed(copied(self.jobset), tuple(copied(job) for job in own), *names, self.now)

    def plan(self) -> Plan:
        return desired.plan(self.observed())

    def step(self, order: Callable[[list[Write]], Iterable[Write]] = list) -> Plan:
        """One pass; `order` may leave out what a crash would."""
        plan = self.plan()
        for write in order(self._writes(plan)):
            write()
            self.writes += 1
        return plan

    def settle(self, most: int = 20) -> World:
        """Passes until there is nothing to do; no Job moves meanwhile, but what is being deleted goes."""
        for _ in range(most):
            self.sweep()
            if not any(self._writes(self.step())) and not self._leaving():
                return self
        raise AssertionError(f"no end after {most} passes: {self.plan()}")

    def _writes(self, plan: Plan) -> list[Write]:
        found: list[Write] = [partial(self.create, obj) for obj in plan.creates]
        found += [partial(self.delete, obj) for obj in plan.deletes]
        found += [partial(self._patch, patch) for patch in plan.patches]
        if plan.status is not None:
            found.append(partial(self._write_status, plan))
        return found

    def _write_status(self, plan: Plan) -> None:
        self.jobset["status"] = copied(plan.status)
        self.events += plan.events

    # --- the server ---

    def create(self, obj: Object) -> None:
        shelf = self._shelf(obj["kind"])
        name = obj["metadata"]["name"]
        assert name not in shelf, f"{obj['kind']} {name} is there already"
        made = copied(obj)
        made["metadata"]["uid"] = f"uid-{name}-{self.writes}"
        shelf[name] = made

    def delete(self, obj: Object) -> None:
        if obj["kind"] == "JobSet":
            self.jobset["metadata"]["deletionTimestamp"] = timestamp(self.now)
            return
        found = self.jobs.get(obj["metadata"]["name"])
        if found and found["metadata"]["uid"] == obj["metadata"]["uid"]:
            found["metadata"]["deletionTimestamp"] = timestamp(self.now)

    def sweep(self, *kept: str) -> None:
        """The pods of Jobs that are being deleted or suspended are gone; the former go with them."""
        for name in [name for name in self._leaving() if name not in kept]:
            del self.jobs[name]
        for name, job in self.jobs.items():
            if job["spec"]["suspend"] and name not in kept and not _is_over(job):
                self.report(name, active=0, ready=0)

    def _patch(self, patch: Patch) -> None:
        name = patch.job["metadata"]["name"]
        for changes in filter(None, (patch.status_first, patch.changes)):
            self.jobs[name] = patches.merge(self.jobs[name], changes)

    def _leaving(self) -> list[str]:
        return [name for name, job in self.jobs.items() if dig(job, "metadata", "deletionTimestamp")]

    def _shelf(self, kind: str) -> dict[str, Object]:
        return {"Job": self.jobs, "Service": self.services, "PersistentVolumeClaim": self.claims}[kind]

    # --- the Job controller, played by hand ---

    def run(self, *names: str, ready: bool = True) -> World:
        """The pods of these Jobs (or of all that are not suspended) run."""
        for job in self._chosen(names):
            pods = job["spec"]["parallelism"]
            self.report(job["metadata"]["name"], active=pods, ready=pods if ready else 0)
        return self

    def succeed(self, *names: str) -> World:
        for job in self._chosen(names):
            pods = job["spec"]["completions"]
            self.report(job["metadata"]["name"], active=0, ready=0, succeeded=pods)
            self._conclude(job, "Complete", "CompletionsReached", "Reached expected number of succeeded pods")
        return self

    def fail(self, name: str, reason: str = "BackoffLimitExceeded", message: str = "", at: int = 0) -> World:
        said = message or "Job has reached the specified backoff limit"
        self.report(name, active=0, ready=0, failed=1)
        self._conclude(self.jobs[name], "Failed", reason, said, at)
        return self

    def report(self, name: str, **status: JSON) -> None:
        self.jobs[name].setdefault("status", {}).update(status)

    def _conclude(self, job: Object, type: str, reason: str, message: str, at: int = 0) -> None:
        condition = {"type": type, "status": "True", "reason": reason, "message": message}
        before = dig(job, "status", "conditions") or []
        when = timestamp(self.now + timedelta(seconds=at))
        plant(job, conditions.put(before, condition, when), "status", "conditions")

    def _chosen(self, names: tuple[str, ...]) -> list[Object]:
        if names:
            return [self.jobs[name] for name in names]
        return [job for job in self.jobs.values() if not job["spec"]["suspend"] and not _is_over(job)]

    # --- what a test looks at ---

    @property
    def is_leaving(self) -> bool:
        return "deletionTimestamp" in self.jobset["metadata"]

    @property
    def status(self) -> Object:
        return self.jobset.get("status") or {}

    def condition(self, type: str) -> tuple[str, str, str] | None:
        found = conditions.find(self.status.get("conditions"), type)
        return None if found is None else (found["status"], found["reason"], found["message"])

    def attempts(self) -> dict[str, int]:
        return {name: int(job["metadata"]["labels"][labels.ATTEMPT]) for name, job in self.jobs.items()}

    def count(self, name: str) -> Mapping[str, JSON]:
        return next(entry for entry in self.status["replicatedJobsStatus"] if entry["name"] == name)

    def told(self) -> list[tuple[str, str]]:
        return [(event.type, event.reason) for event in self.events]

    def suspend(self, on: bool = True) -> World:
        self.jobset["spec"]["suspend"] = on
        return self


Write = Callable[[], None]


def _is_over(job: Object) -> bool:
    found = dig(job, "status", "conditions")
    return conditions.is_true(found, "Complete") or conditions.is_true(found, "Failed")
