"""Laws of the JobSet controller: what is done is done, and wherever a pass is cut off the end is the same."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.jobset_world import World, Write, a_rjob, depends
from trainshed.controllers.jobset import desired
from trainshed.controllers.jobset.desired import NOTHING
from trainshed.kinds.jobset import labels
from trainshed.kube.objects import JSON, Object, copied, dig

NAMES = ("a", "b", "c")
Script = dict[int, set[str]]
"""Which Jobs fail in which attempt; all others succeed."""

waits = st.sampled_from(["Ready", "Complete"])
failures = st.dictionaries(
    st.integers(0, 2), st.sets(st.sampled_from(["js-a-0", "js-a-1", "js-b-0", "js-c-0"])), max_size=3
)


@st.composite
def specs(draw: st.DrawFn) -> Object:
    """JobSets with up to three replicated jobs, in any order of starting, with any strategy."""
    jobs = [a_rjob("a", 2, pods=2), a_rjob("b"), a_rjob("c")][: draw(st.integers(1, 3))]
    policies: Object = {}
    order = draw(st.sampled_from(["AnyOrder", "InOrder", "DependsOn"]))
    if order == "DependsOn":
        for before, job in pairwise(jobs):
            job["dependsOn"] = depends((before["name"], draw(waits)))
    else:
        policies["startupPolicy"] = {"startupPolicyOrder": order}
    restarts = draw(st.integers(0, 2))
    strategy = draw(st.sampled_from(["Recreate", "BlockingRecreate"]))
    if draw(st.booleans()):
        policies["failurePolicy"] = {"maxRestarts": restarts, "restartStrategy": strategy, "rules": []}
    return {"jobs": jobs, "suspend": draw(st.booleans()), **policies}


def build(spec: Object) -> World:
    given = copied(spec)
    return World(*given.pop("jobs"), **given)


# --- play -------------------------------------------------------------------------------------------------


def movable(world: World) -> list[str]:
    """Jobs whose pods may move: not suspended, not being deleted, not over."""
    return [
        name
        for name, job in world.jobs.items()
        if not job["spec"]["suspend"]
        and not dig(job, "metadata", "deletionTimestamp")
        and not dig(job, "status", "conditions")
    ]


def move(world: World, name: str, script: Script) -> None:
    """A Job runs first; the next time it ends as the script says for its attempt."""
    job = world.jobs[name]
    attempt = int(job["metadata"]["labels"][labels.ATTEMPT])
    if not dig(job, "status", "ready"):
        world.run(name)
    elif name in script.get(attempt, set()):
        world.fail(name)
    else:
        world.succeed(name)


def play_to_the_end(world: World, script: Script) -> World:
    for _ in range(60):
        world.suspend(False).settle()
        found = movable(world)
        if not found:
            return world
        for name in found:
            move(world, name, script)
    raise AssertionError("the play has no end")


def outcome(world: World) -> JSON:
    """What the end has to agree on, whatever the way."""
    status = world.status
    jobs = sorted(world.jobs) if status.get("terminalState") == "Completed" else []
    return (status.get("terminalState"), status.get("restarts"), jobs)


# --- laws -------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(specs(), failures)
def test_when_nothing_moves_nothing_is_done(spec: Object, script: Script) -> None:
    world = build(spec)
    for _ in range(8):
        world.settle()
        before = world.writes
        assert world.plan() == NOTHING
        assert world.settle().writes == before
        for name in movable(world)[:1]:
            move(world, name, script)


@settings(max_examples=60)
@given(specs(), failures)
def test_deciding_changes_nothing_it_looks_at(spec: Object, script: Script) -> None:
    world = build(spec)
    for _ in range(8):
        seen = world.observed()
        before = copied([seen.jobset, *seen.jobs])
        desired.plan(seen)
        assert [seen.jobset, *seen.jobs] == before
        world.step()
        for name in movable(world):
            move(world, name, script)


@settings(max_examples=150)
@given(specs(), failures, st.data())
def test_passes_cut_off_anywhere_come_to_the_same_end(
    spec: Object, script: Script, data: st.DataObject
) -> None:
    undisturbed = outcome(play_to_the_end(build(spec), script))
    world = build(spec)
    for _ in range(data.draw(st.integers(5, 40), label="length")):
        disturb(world, script, data)
    assert outcome(play_to_the_end(world, script)) == undisturbed


def disturb(world: World, script: Script, data: st.DataObject) -> None:
    """Something happens: a pass that is cut off, a Job that moves, some that go, somebody who suspends."""
    what = data.draw(st.sampled_from(["pass", "pass", "move", "gone", "suspend", "resume"]))
    if what == "pass":
        world.step(lambda writes: cut_off(writes, data))
    elif what == "move" and movable(world):
        move(world, data.draw(st.sampled_from(sorted(movable(world)))), script)
    elif what == "gone" and world.jobs:
        kept = data.draw(st.sets(st.sampled_from(sorted(world.jobs))))
        world.sweep(*kept)
    elif what in ("suspend", "resume"):
        world.suspend(what == "suspend")


def cut_off(writes: list[Write], data: st.DataObject) -> Iterable[Write]:
    """Some of the writes, in any order; the status comes last, when all others were made."""
    if not writes:
        return []
    if data.draw(st.booleans(), label="whole"):
        return writes
    return data.draw(st.permutations(writes[:-1]))[: data.draw(st.integers(0, len(writes) - 1))]
