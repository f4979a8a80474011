"""Pods that come while others of their gang run have their room from the start."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.pure.scheduler_objects import Desk, a_job, a_jobset, a_node, a_part, a_pod, made_of
from trainshed.controllers.scheduler.ledger import Ledger
from trainshed.kinds.jobset.labels import ATTEMPT
from trainshed.kube.objects import Object

READY, COMPLETE = {"node": "Ready"}, {"dataset": "Complete"}
OVER = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}


def an_mpi_job(name: str, nodes: int = 1, cpu: str = "1") -> Object:
    return a_jobset(name, a_part("node", nodes, cpu=cpu), a_part("launcher", after=READY, cpu=cpu))


def started(desk: Desk, jobset: Object, part: str = "node") -> list[Object]:
    """The JobSet is made, and its first Job; what was made."""
    made = made_of(jobset, part)
    desk.add(jobset, *made)
    return made


def changed(obj: Object, **members: object) -> Object:
    return {**obj, **members}


def test_two_jobs_whose_launchers_come_late_run_one_after_the_other() -> None:
    desk, one, two = (
        Desk().nodes(a_node(cpu="2")),
        an_mpi_job("one", cpu="900m"),
        an_mpi_job("two", cpu="900m"),
    )
    started(desk, one)
    started(desk, two)
    assert desk.run() == {"one-node-0": "here"}
    assert desk.why("two-node-0") == "0 of 2 pods fit; needs cpu 900m, 200m of 2 free; default/one has 1800m"
    desk.add(*made_of(one, "launcher"))
    assert desk.run() == {"one-launcher-0": "here"}
    desk.finish("one-launcher-0")
    desk.finish("one-node-0")
    assert desk.run() == {"two-node-0": "here"}
    desk.add(*made_of(two, "launcher"))
    assert desk.run() == {"two-launcher-0": "here"}
    assert desk.free()["cpu"] == 200


def test_a_job_that_cannot_run_with_its_launcher_says_so_at_once() -> None:
    desk = Desk().nodes(a_node(cpu="2"))
    started(desk, an_mpi_job("large", cpu="1500m"))
    assert desk.run() == {}
    assert desk.why("large-node-0") == "needs cpu 3 for its 2 pods, this machine has 2"


def test_no_room_is_kept_for_what_begins_when_others_have_ended() -> None:
    tuning = a_jobset("t", a_part("dataset", cpu="2"), a_part("node", 2, after=COMPLETE, cpu="1"))
    desk = Desk().nodes(a_node(cpu="2"))
    job, _ = started(desk, tuning, "dataset")
    assert desk.run() == {"t-dataset-0": "here"}
    desk.finish("t-dataset-0")
    desk.ledger.job(job, changed(job, **OVER))
    desk.add(*made_of(tuning, "node"))
    assert desk.run() == {"t-node-0": "here", "t-node-1": "here"}


def test_room_is_kept_for_what_begins_when_others_have_ended_beside_somebody_who_runs_on() -> None:
    parts = a_part("dataset", cpu="0"), a_part("watcher", cpu="1"), a_part("node", after=COMPLETE, cpu="1")
    desk, jobset = Desk().nodes(a_node(cpu="2")), a_jobset("t", *parts)
    desk.add(jobset, *made_of(jobset, "dataset"), *made_of(jobset, "watcher"), a_pod("other", cpu="1"))
    assert set(desk.run()) == {"t-dataset-0", "t-watcher-0"}


def test_an_initializer_before_an_mpi_job_needs_room_for_itself_only() -> None:
    node, launcher = a_part("node", after=COMPLETE, cpu="1"), a_part("launcher", after=READY, cpu="1")
    desk, jobset = Desk().nodes(a_node(cpu="2")), a_jobset("t", a_part("dataset", cpu="2"), node, launcher)
    job, _ = started(desk, jobset, "dataset")
    assert desk.run() == {"t-dataset-0": "here"}
    desk.finish("t-dataset-0")
    desk.ledger.job(job, changed(job, **OVER))
    desk.add(*made_of(jobset, "node"), a_pod("small", cpu="1"))
    assert desk.run() == {"t-node-0": "here"}, "the rest is for the launcher"


def test_jobs_that_start_in_order_are_one_gang() -> None:
    policy = {"startupPolicyOrder": "InOrder"}
    jobset = a_jobset("o", a_part("first", cpu="1"), a_part("second", 2, cpu="1"), startupPolicy=policy)
    desk = Desk().nodes(a_node(cpu="2"))
    started(desk, jobset, "first")
    assert desk.run() == {}
    assert desk.why("o-first-0") == "needs cpu 3 for its 3 pods, this machine has 2"


def test_a_job_that_was_made_suspended_has_its_room_kept() -> None:
    jobset, desk = an_mpi_job("s"), Desk().nodes(a_node(cpu="2"))
    launcher, pod = made_of(jobset, "launcher")
    sleeping = changed(launcher, spec={**launcher["spec"], "suspend": True})
    desk.add(sleeping, jobset, *made_of(jobset, "node"), a_pod("other", cpu="1"))
    assert desk.run() == {"s-node-0": "here"}
    desk.ledger.job(sleeping, launcher)
    assert desk.add(pod).run() == {"s-launcher-0": "here"}


def test_the_launcher_of_a_running_job_does_not_wait_behind_somebody_who_waits_for_that_job() -> None:
    desk, jobset = Desk().nodes(a_node(cpu="2")), an_mpi_job("m")
    started(desk, jobset)
    desk.run()
    urgent = a_pod("urgent", cpu="2")
    urgent["spec"]["priority"] = 10
    assert desk.add(urgent).run() == {}
    assert desk.head == "default/urgent"
    assert desk.add(*made_of(jobset, "launcher")).run() == {"m-launcher-0": "here"}


def test_a_replaced_pod_does_not_wait_behind_somebody_who_waits_for_its_gang() -> None:
    job, urgent = a_job("j-node-0", 2, jobset="j"), a_pod("urgent", cpu="2")
    urgent["spec"]["priority"] = 10
    desk = Desk().nodes(a_node(cpu="2")).add(job, *(a_pod(f"p{at}", job=job, cpu="1") for at in range(2)))
    desk.run()
    desk.add(urgent).run()
    desk.finish("p1")
    assert desk.add(a_pod("p1-again", job=job, cpu="1")).run() == {"p1-again": "here"}


@pytest.mark.parametrize("how", ["over", "deleted", "restarted", "pods gone"])
def test_room_that_nobody_will_need_is_given_back(how: str) -> None:
    desk, jobset = Desk().nodes(a_node(cpu="2")), an_mpi_job("m")
    started(desk, jobset)
    desk.run()
    assert desk.free()["cpu"] == 0
    match how:
        case "over":
            desk.ledger.jobset(jobset, changed(jobset, **OVER))
        case "deleted":
            desk.ledger.jobset(jobset, None)
        case "restarted":
            desk.ledger.jobset(jobset, changed(jobset, status={"restarts": 1}))
        case "pods gone":
            desk.finish("m-node-0")
    assert desk.free()["cpu"] == (2000 if how == "pods gone" else 1000)
    assert len(desk.ledger.stamps) == (0 if how == "pods gone" else 1)


def test_a_job_that_is_over_before_its_pods_came_gives_its_room_back() -> None:
    desk, jobset = Desk().nodes(a_node(cpu="2")), an_mpi_job("m")
    started(desk, jobset)
    desk.run()
    launcher, _ = made_of(jobset, "launcher")
    desk.add(launcher)
    assert desk.free()["cpu"] == 0, "its pod is about to come"
    desk.ledger.job(launcher, changed(launcher, **OVER))
    assert desk.free()["cpu"] == 1000


def test_the_pods_of_a_new_attempt_may_be_the_first_news_of_it() -> None:
    desk, jobset = Desk().nodes(a_node(cpu="2")), an_mpi_job("m")
    made = made_of(jobset, "node")
    for obj in (*made, made[0]["spec"]["template"]):
        obj["metadata"]["labels"] = {**obj["metadata"]["labels"], ATTEMPT: "3"}
    desk.add(jobset, *made, a_pod("other", cpu="1"))
    assert desk.run() == {"m-node-0": "here"}


def test_pods_wait_until_their_jobset_is_known() -> None:
    desk, jobset = Desk().nodes(a_node(cpu="2")), an_mpi_job("m")
    assert desk.add(*made_of(jobset, "node")).run() == {}
    assert desk.add(jobset, a_pod("other", cpu="1")).run() == {"m-node-0": "here"}


def test_a_scheduler_that_starts_anew_keeps_the_room_of_launchers_to_come() -> None:
    desk, jobset = Desk().nodes(a_node(cpu="2")), an_mpi_job("m")
    made = started(desk, jobset)
    desk.run()
    again = Desk(Ledger()).nodes(a_node(cpu="2")).add(jobset, made[0], desk.pods["m-node-0"])
    assert again.add(a_pod("other", cpu="1")).run() == {}
    assert again.add(*made_of(jobset, "launcher")).run() == {"m-launcher-0": "here"}


def test_a_launcher_placed_by_somebody_else_leaves_no_room_kept() -> None:
    desk, jobset = Desk().nodes(a_node(cpu="3")), an_mpi_job("m")
    started(desk, jobset)
    desk.run()
    job, pod = made_of(jobset, "launcher")
    desk.add(job, changed(pod, spec={**pod["spec"], "nodeName": "here"}))
    desk.run()
    assert desk.free()["cpu"] == 1000


@given(st.integers(1, 3), st.integers(2, 5))
def test_jobs_with_late_launchers_never_deadlock(nodes: int, count: int) -> None:
    desk = Desk().nodes(a_node(cpu=str(nodes + 1)))
    jobs = {f"m{at}": an_mpi_job(f"m{at}", nodes) for at in range(count)}
    for jobset in jobs.values():
        started(desk, jobset)
    for _ in range(count):
        placed = desk.run()
        [name] = {pod.partition("-")[0] for pod in placed}
        assert len(placed) == nodes
        assert [*desk.add(*made_of(jobs[name], "launcher")).run()] == [f"{name}-launcher-0"]
        for pod in (*placed, f"{name}-launcher-0"):
            desk.finish(pod)
    assert not desk.ledger.line()


# --- volume claims ----------------------------------------------------------------------------------------


def a_claim(name: str, **metadata: str) -> Object:
    return {"metadata": {"name": name, "namespace": "default", **metadata}, "spec": {}}


def with_claim(pod: Object, claim: str) -> Object:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return changed(pod, spec={**pod["spec"], "volumes": volumes})


def test_a_pod_waits_without_a_node_for_a_claim_that_is_not_there() -> None:
    desk = Desk().nodes(a_node(cpu="1")).add(with_claim(a_pod("p", cpu="1"), "data"))
    assert desk.add(a_pod("other", cpu="1")).run() == {"other": "here"}, "it holds up nobody"
    assert desk.why("p") == 'persistentvolumeclaim "data" not found; create it in namespace default'
    desk.finish("other")
    desk.ledger.claim(None, a_claim("data"))
    assert desk.run() == {"p": "here"}


def test_a_claim_that_is_being_deleted_takes_no_new_pods() -> None:
    claim, leaving = a_claim("data"), a_claim("data", deletionTimestamp="2026-11-15T12:00:00Z")
    desk = Desk().nodes(a_node())
    desk.ledger.claim(None, claim)
    desk.add(with_claim(a_pod("p", cpu="1"), "data"))
    desk.ledger.claim(claim, leaving)
    assert desk.run() == {}
    assert "is being deleted" in desk.why("p")
    desk.ledger.claim(leaving, None)
    assert "not found" in desk.why("p")
