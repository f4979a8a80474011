"""Every pod is counted once, wherever an operator is killed, however late it hears, whoever writes beside it.

A small server, a kubelet, a user and an operator take turns in an order hypothesis chooses. The operator's
pass is the one of `reconcile`, with a stop before each write: there it may be killed, or others may act.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.pure.job_objects import NOW, a_job, a_pod, an_indexed_job, seen
from trainshed.controllers.job import desired, pods, specs, status, tally, uncounted, verdict
from trainshed.controllers.job.observed import Observed
from trainshed.controllers.job.specs import TRACKING
from trainshed.kube.ages import timestamp
from trainshed.kube.objects import Object, copied

Pods = dict[str, Object]
STEPS = settings(max_examples=100, stateful_step_count=30)


class Conflict(Exception):
    pass


class Server:
    """The truth; it keeps a ledger of the pods that ended, for the law."""

    def __init__(self, job: Object) -> None:
        self.job = job
        self.revision = 1
        self.pods: Pods = {}
        self.ended: set[str] = set()
        self.succeeded: set[str] = set()

    def write_status(self, wanted: Object, revision: int) -> None:
        if revision != self.revision:
            raise Conflict
        self.job, self.revision = {**self.job, "status": copied(wanted)}, self.revision + 1

    def end(self, uid: str, phase: str) -> None:
        self.ended.add(uid)
        if phase == "Succeeded":
            self.succeeded.add(uid)
        self.pods[uid]["status"]["phase"] = phase
        self._sweep(uid)

    def delete(self, uid: str) -> None:
        self.ended.add(uid)
        self.pods[uid]["metadata"]["deletionTimestamp"] = timestamp(NOW)

    def free(self, uid: str) -> None:
        if uid in self.pods:
            self.pods[uid]["metadata"]["finalizers"] = []
            self._sweep(uid)

    def _sweep(self, uid: str) -> None:
        """A deleted pod goes when it ended and nobody holds it."""
        pod = self.pods[uid]
        if pods.is_leaving(pod) and pods.is_terminal(pod) and not pods.is_tracked(pod):
            del self.pods[uid]


class Operator:
    """One life: what it knows, and the pass it is in."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.known: Pods = copied(server.pods)
        self.job, self.revision = server.job, server.revision
        self.steps: Iterator[None] = iter(())

    def step(self) -> bool:
        """On to the next write; False when the pass is over."""
        try:
            next(self.steps)
        except StopIteration:
            self.steps = self._pass()
            return False
        except Conflict:
            self.job, self.revision = self.server.job, self.server.revision
            self.steps = iter(())
        return True

    def hear(self, uid: str) -> None:
        if uid in self.server.pods:
            self.known[uid] = copied(self.server.pods[uid])
        else:
            self.known.pop(uid, None)

    def _pass(self) -> Iterator[None]:
        if specs.is_finished(self.job):
            for pod in [pod for pod in self.known.values() if pods.is_tracked(pod)]:
                yield
                self._free(pod)
            return
        found = self._observe()
        counted = tally.count(found)
        judged = verdict.judge(found, counted)
        plan = desired.plan(found, counted, judged)
        if plan.delete:
            yield from self._write(status.noted(found, counted, judged)[0])
        for pod in plan.delete:
            yield
            self._delete(pods.uid_of(pod))
        for pod in plan.create:
            yield
            self._create(pod)
        found = self._observe()
        counted = tally.count(found)
        judged = verdict.judge(found, counted) or verdict.completed(found, counted)
        wanted, count = status.noted(found, counted, judged)
        yield from self._write(wanted)
        for pod in count.released:
            yield
            self._free(pod)
        if not specs.is_finished(self.job):
            found = self._observe()
            yield from self._write(status.concluded(found, tally.count(found)))

    def _observe(self) -> Observed:
        held = {uid for uid, pod in self.known.items() if pods.is_tracked(pod)}
        said = status.begun(uncounted.settled(self.job["status"], held), False, timestamp(NOW))
        return seen({**self.job, "status": said}, self.known.values())

    def _write(self, wanted: Object) -> Iterator[None]:
        if wanted != self.job["status"]:
            yield
            self.server.write_status(wanted, self.revision)
            self.job, self.revision = self.server.job, self.server.revision

    def _free(self, pod: Object) -> None:
        self.server.free(pods.uid_of(pod))
        self.hear(pods.uid_of(pod))

    def _delete(self, uid: str) -> None:
        if uid in self.server.pods:
            self.server.delete(uid)
        self.hear(uid)

    def _create(self, wanted: Object) -> None:
        # Finished long ago as far as back-off goes: the law is not about time.
        made = a_pod(self.server.job, "Pending", age=10_000)
        made["metadata"] |= {"annotations": wanted["metadata"]["annotations"], "finalizers": [TRACKING]}
        made["status"]["containerStatuses"] = []
        uid = pods.uid_of(made)
        self.server.pods[uid] = made
        self.hear(uid)


class Counting(RuleBasedStateMachine):
    def job(self) -> Object:
        return a_job(completions=2, parallelism=2, backoffLimit=1)

    @initialize()
    def begin(self) -> None:
        self.server = Server(self.job())
        self.operator = Operator(self.server)

    def _living(self) -> list[str]:
        return [uid for uid, pod in self.server.pods.items() if not pods.is_terminal(pod)]

    @precondition(lambda self: self._living())
    @rule(which=st.integers(0, 9), phase=st.sampled_from(["Succeeded", "Failed"]))
    def a_pod_ends(self, which: int, phase: str) -> None:
        living = self._living()
        self._end(living[which % len(living)], phase)

    def _end(self, uid: str, phase: str) -> None:
        self.server.end(uid, phase)

    @precondition(lambda self: self._living())
    @rule(which=st.integers(0, 9))
    def somebody_deletes_a_pod(self, which: int) -> None:
        living = self._living()
        self.server.delete(living[which % len(living)])

    @rule(which=st.integers(0, 9))
    def the_operator_hears_of_a_pod(self, which: int) -> None:
        known = sorted({*self.server.pods, *self.operator.known})
        if known:
            self.operator.hear(known[which % len(known)])

    @rule()
    def the_operator_hears_of_all(self) -> None:
        for uid in {*self.server.pods, *self.operator.known}:
            self.operator.hear(uid)

    @rule(steps=st.integers(1, 6))
    def the_operator_works(self, steps: int) -> None:
        for _ in range(steps):
            self.operator.step()

    @rule()
    def the_operator_is_killed(self) -> None:
        self.operator = Operator(self.server)

    @rule()
    def somebody_changes_the_job(self) -> None:
        self.server.revision += 1

    @invariant()
    def nothing_is_counted_that_did_not_end(self) -> None:
        said = self.server.job["status"]
        assert (said.get("failed") or 0) <= len(self.server.ended)
        assert (said.get("succeeded") or 0) <= len(self.server.succeeded)
        if specs.is_finished(self.server.job):
            assert not len(uncounted.read(said))
            assert not any(map(pods.is_active, self.server.pods.values()))

    def teardown(self) -> None:
        for _ in range(20):
            self.the_operator_hears_of_all()
            while self.operator.step():
                pass
            for uid in self._living():
                self._end(uid, "Succeeded")
        assert specs.is_finished(self.server.job)
        assert not any(map(pods.is_tracked, self.server.pods.values()))
        self.check(self.server.job["status"])

    def check(self, said: Object) -> None:
        assert (said.get("failed") or 0) + (said.get("succeeded") or 0) == len(self.server.ended)


class CountingByIndex(Counting):
    def job(self) -> Object:
        return an_indexed_job(2, backoffLimit=1)

    def _end(self, uid: str, phase: str) -> None:
        """A pod that was deleted does not succeed any more: which of both is counted would be open."""
        self.server.end(uid, "Failed" if pods.is_leaving(self.server.pods[uid]) else phase)

    def check(self, said: Object) -> None:
        assert (said.get("failed") or 0) == len(self.server.ended - self.server.succeeded)


class CountingPatiently(Counting):
    def job(self) -> Object:
        return a_job(completions=2, parallelism=2, backoffLimit=1, podReplacementPolicy="Failed")


TestCounting = Counting.TestCase
TestCounting.settings = STEPS
TestCountingByIndex = CountingByIndex.TestCase
TestCountingByIndex.settings = STEPS
TestCountingPatiently = CountingPatiently.TestCase
TestCountingPatiently.settings = STEPS
