"""Containers of a v1 job that are started again in their pods: told to the owner, in words and as events."""

from __future__ import annotations

from tests.pure.v1jobs.v1_world import World, running
from trainshed.jobs.summary import Summary, summarize

LINE = "python: can't open file '/workspace/train.py': [Errno 2] No such file or directory"


def crash(world: World, *names: str, restarts: int, at: int = 0) -> World:
    """Let containers wait to be started once more."""
    end = {"exitCode": 2, "message": LINE, "finishedAt": f"2026-11-16T12:00:{at:02}Z"}
    for name in names:
        pod = world.pods[f"j-{name}"]
        container = {
            "name": "pytorch",
            "restartCount": restarts,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": end},
        }
        pod["spec"]["restartPolicy"] = "OnFailure"
        pod["status"] = {"phase": "Running", "containerStatuses": [container]}
    return world


def come_back(world: World, name: str) -> World:
    """The container runs, for as long as it does."""
    [container] = world.pods[f"j-{name}"]["status"]["containerStatuses"]
    container |= {"state": {"running": {}}, "restartCount": container["restartCount"] + 1}
    return world


def summary(world: World) -> Summary:
    return summarize(world.job, None, [*world.pods.values()])


def told(world: World) -> list[str]:
    return [event.message for event in world.events if event.reason == "ContainerRestarting"]


def test_a_job_that_crashes_is_restarting_and_says_who_and_why() -> None:
    world = crash(running(), "master-0", restarts=3).settle()
    found = summary(world)
    assert (found.state, found.restarts) == ("Restarting", 4)
    assert found.verdict == f"restart 4: rank 0 of 3 (master-0) exited 2: {LINE}"
    assert world.conditions() == {"Created": "True", "Running": "True"}, "upstream's own say nothing of it"


def test_between_two_crashes_it_runs_and_the_last_one_is_still_told() -> None:
    world = come_back(crash(running(), "worker-0", restarts=0), "worker-0")
    found = summary(world)
    assert found.state == "Running"
    assert found.verdict == (f"3 of 3 pods running; last restart 1: rank 1 of 3 (worker-0) exited 2: {LINE}")


def test_restarts_of_all_pods_count_against_the_limit_and_the_first_cause_is_told() -> None:
    world = running().run_policy(backoffLimit=9)
    crash(world, "worker-1", restarts=2, at=1)
    crash(world, "master-0", restarts=1, at=5)
    found = summary(world)
    assert found.verdict.startswith("restart 5 of 9: rank 2 of 3 (worker-1) exited 2: ")
    assert found.restarts == 5, "the same number in both places"


def test_a_pod_that_waits_to_be_started_again_does_not_run() -> None:
    world = crash(running(), "worker-1", restarts=1)
    for pod in world.pods.values():  # ended well, and started again all the same
        pod["status"]["containerStatuses"][0].pop("lastState", None)
    assert summary(world).message == "2 of 3 pods running"


def test_each_restart_is_told_once_with_its_cause() -> None:
    world = crash(running(), "master-0", restarts=0).settle()
    world.settle()
    first = f"restart 1: rank 0 of 3 (master-0) exited 2: {LINE}"
    assert told(world) == [first]
    assert told(come_back(world, "master-0").settle()) == [first]
    assert told(crash(world, "master-0", restarts=1).settle()) == [first, first.replace("1", "2", 1)]


def test_a_first_restart_that_nobody_saw_coming_is_told_when_it_is_done() -> None:
    world = come_back(crash(running(), "worker-0", restarts=0), "worker-0").settle()
    assert [words.partition(" exited")[0] for words in told(world)] == ["restart 1: rank 1 of 3 (worker-0)"]


def test_pods_that_are_going_are_not_started_again() -> None:
    world = crash(running(), "worker-0", restarts=0).remove("j-worker-0").settle()
    assert told(world) == []
