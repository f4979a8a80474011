"""Laws of the scheduler, for any sequence of arrivals and endings."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis.strategies as st
from hypothesis import given, settings

from tests.pure.scheduler_objects import Desk, a_job, a_node, a_pod
from trainshed.kube.objects import Object

CPUS = 4
jobs = st.tuples(st.integers(1, 3), st.integers(1, 6), st.sampled_from([0, 0, 0, 10]))
"""Pods, cpus of each, priority. Some are too large for the nodes."""
steps = st.lists(st.one_of(jobs, st.integers(0, 30)), max_size=40)
"""A job comes, or one of the pods that run ends."""
machines = st.lists(st.integers(1, CPUS), min_size=1, max_size=3)


def nodes(machine: list[int]) -> Iterator[Object]:
    for at, cpus in enumerate(machine):
        yield a_node(f"n{at}", cpu=str(cpus))


class Story:
    """Jobs come and end; who was placed, and where."""

    def __init__(self, machine: list[int]) -> None:
        self.desk = Desk().nodes(*nodes(machine))
        self.running: dict[str, str] = {}
        self.placed: list[str] = []
        self.jobs: dict[str, tuple[int, int]] = {}

    def submit(self, pods: int, cpus: int, priority: int = 0) -> str:
        name = f"j{len(self.jobs)}"
        self.jobs[name] = pods, cpus
        job = a_job(name, pods)
        made = [a_pod(f"{name}-{at}", job=job, cpu=str(cpus)) for at in range(pods)]
        for pod in made:
            pod["spec"]["priority"] = priority
        self.desk.add(job, *made)
        return name

    def finish(self, choice: int) -> None:
        if self.running:
            name = sorted(self.running)[choice % len(self.running)]
            del self.running[name]
            self.desk.finish(name)

    def schedule(self) -> None:
        found = self.desk.run()
        self.running |= found
        self.placed += sorted({name.partition("-")[0] for name in found}, key=lambda name: int(name[1:]))

    def tell(self, story: list[object]) -> None:
        for step in story:
            self.finish(step) if isinstance(step, int) else self.submit(*step)  # type: ignore[misc]
            self.schedule()
            self.check()

    def check(self) -> None:
        assert all(room.free["cpu"] >= 0 for room in self.desk.ledger.board.rooms.values()), "overcommitted"

    def drain(self) -> None:
        """Let everything end that runs, until nothing more starts."""
        while self.running:
            for name in sorted(self.running):
                del self.running[name]
                self.desk.finish(name)
            self.schedule()
            self.check()


@given(machines, steps)
def test_no_node_is_ever_overcommitted(machine: list[int], story: list[object]) -> None:
    told = Story(machine)
    told.tell(story)
    told.drain()


@given(machines, steps)
def test_a_gang_is_placed_as_a_whole_or_not_at_all(machine: list[int], story: list[object]) -> None:
    told = Story(machine)
    for step in story:
        told.finish(step) if isinstance(step, int) else told.submit(*step)  # type: ignore[misc]
        before = dict(told.running)
        told.schedule()
        for name in {pod.partition("-")[0] for pod in told.running.keys() - before.keys()}:
            assert sum(pod.startswith(f"{name}-") for pod in told.running) == told.jobs[name][0]


@given(machines, steps)
def test_whatever_could_run_alone_runs_in_the_end(machine: list[int], story: list[object]) -> None:
    told = Story(machine)
    told.tell(story)
    told.drain()
    for gang in told.desk.ledger.line():
        alone = Story(machine)
        pods, cpus = told.jobs[gang.name.partition("/")[2]]
        alone.submit(pods, cpus)
        alone.schedule()
        assert not alone.placed, "it was left waiting on empty nodes that have room for it"


@given(st.integers(1, 4), st.lists(st.integers(1, 4), min_size=2, max_size=30))
def test_equal_jobs_start_in_the_order_they_came(cpus: int, ends: list[int]) -> None:
    told = Story([CPUS])
    for _ in ends:
        told.submit(1, cpus)
    told.schedule()
    for end in ends:
        told.finish(end)
        told.schedule()
    assert told.placed == [f"j{at}" for at in range(len(told.placed))]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2)), min_size=1, max_size=20), st.integers(1, 4))
def test_the_first_in_line_starts_no_later_than_if_nobody_had_come_after_it(
    later: list[tuple[int, int]], cpus: int
) -> None:
    """Others may pass it, but only where that costs it nothing: it starts when those before it have ended."""
    told = Story([CPUS])
    told.submit(1, 3)
    told.schedule()
    head = told.submit(1, cpus)
    for pods, each in later:
        told.submit(pods, each)
        told.schedule()
    if head not in told.placed:
        told.desk.finish("j0-0")
        del told.running["j0-0"]
        told.schedule()
    assert head in told.placed


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(2, 6))
def test_gangs_that_together_exceed_the_machine_never_deadlock(pods: int, count: int) -> None:
    told = Story([pods])
    submitted = [a_job(f"g{at}", pods) for at in range(count)]
    made = [[a_pod(f"g{at}-{i}", job=job, cpu="1") for i in range(pods)] for at, job in enumerate(submitted)]
    told.desk.add(*submitted)
    for row in zip(*made, strict=True):  # one pod of each in turn, as controllers in parallel would make them
        told.desk.add(*row)
        told.schedule()
    for _ in range(count):
        assert len(told.running) == pods, "one of them runs, whole"
        for name in list(told.running):
            told.desk.finish(name)
            del told.running[name]
        told.schedule()
    assert not told.desk.ledger.line()
