"""What the scheduler knows, through all that may happen to pods, Jobs and nodes."""

from __future__ import annotations

from tests.pure.scheduler_objects import Desk, a_job, a_node, a_pod
from trainshed.controllers.scheduler import reasons
from trainshed.controllers.scheduler.ledger import COURTESY, Ledger
from trainshed.controllers.scheduler.needs import of
from trainshed.kube.objects import Object


def made_by(owner: Object, obj: Object, kind: str) -> Object:
    reference = {"apiVersion": "x/v1", "kind": kind, "controller": True, "name": owner["metadata"]["name"]}
    obj["metadata"]["ownerReferences"] = [{**reference, "uid": owner["metadata"]["uid"]}]
    return obj


def an_owner(name: str, created: str = "2026-11-15T12:00:00Z") -> Object:
    return {"metadata": {"name": name, "uid": f"root-{name}", "creationTimestamp": created}, "spec": {}}


def test_jobs_stand_in_line_as_their_trainjobs_were_made() -> None:
    desk = Desk().nodes(a_node(cpu="1")).add(a_pod("busy", cpu="1"))
    desk.run()
    first, second = an_owner("first"), an_owner("second")
    desk.ledger.root(None, first)
    desk.ledger.root(None, second)
    for trainjob in (second, first):  # controllers that work in parallel make the later one's pods first
        name = trainjob["metadata"]["name"]
        jobset = made_by(
            trainjob, {"metadata": {"name": name, "uid": f"jobset-{name}"}, "spec": {}}, "TrainJob"
        )
        desk.ledger.root(None, jobset)
        job = made_by(jobset, a_job(f"{name}-node-0", 1, jobset=name), "JobSet")
        desk.add(job, a_pod(f"{name}-0", job=job, cpu="1"))
    desk.finish("busy")
    assert desk.run() == {"first-0": "here"}


def live(now: list[float]) -> Desk:
    desk = Desk(Ledger(clock=lambda: now[0])).nodes(a_node(cpu="1"))
    desk.ledger.is_live = True
    return desk


def submit(desk: Desk, trainjob: Object) -> None:
    """What controllers make of a TrainJob."""
    name = trainjob["metadata"]["name"]
    job = made_by(trainjob, a_job(f"{name}-node-0", 1, jobset=name), "TrainJob")
    desk.add(job, a_pod(f"{name}-0", job=job, cpu="1"))


def test_pods_wait_a_moment_for_those_of_a_job_made_before_theirs() -> None:
    now = [100.0]
    desk, first, second = live(now), an_owner("first"), an_owner("second")
    desk.ledger.root(None, first)
    desk.ledger.root(None, second)
    submit(desk, second)
    assert desk.ledger.ready() == ([], COURTESY)
    submit(desk, first)
    assert [gang.name for gang in desk.ledger.ready()[0]] == ["default/first", "default/second"]


def test_nobody_waits_long_for_a_job_that_makes_no_pods() -> None:
    now = [100.0]
    desk, empty, over = live(now), an_owner("empty"), an_owner("over")
    desk.ledger.root(None, empty)
    desk.ledger.root(None, over)
    desk.ledger.root(over, {**over, "status": {"conditions": [{"type": "Failed", "status": "True"}]}})
    second = an_owner("second")
    desk.ledger.root(None, second)
    submit(desk, second)
    urgent = a_pod("urgent", cpu="1")
    urgent["spec"]["priority"] = 5
    desk.add(urgent)
    assert [gang.name for gang in desk.ledger.ready()[0]] == ["default/urgent"]
    now[0] += COURTESY
    assert [gang.name for gang in desk.ledger.ready()[0]] == ["default/urgent", "default/second"]
    desk.ledger.root(empty, None)


def test_a_restart_does_not_lose_its_place() -> None:
    desk = Desk().nodes(a_node(cpu="1"))
    old = an_owner("old", "2026-11-15T11:00:00Z")
    desk.ledger.root(None, old)
    desk.add(a_pod("other", cpu="1"))
    again = made_by(old, a_job("old-node-0", 1, jobset="old"), "JobSet")
    desk.add(again, a_pod("again", job=again, cpu="1"))
    assert desk.run() == {"again": "here"}


def test_owners_in_a_circle_are_no_trap() -> None:
    one, other = an_owner("one"), an_owner("other")
    made_by(other, one, "TrainJob")
    made_by(one, other, "TrainJob")
    desk = Desk().nodes(a_node())
    desk.ledger.root(None, one)
    desk.ledger.root(None, other)
    job = made_by(one, a_job("j", 1), "JobSet")
    assert desk.add(job, a_pod("p", job=job, cpu="1")).run() == {"p": "here"}


def test_a_job_that_is_deleted_is_no_longer_waited_for() -> None:
    gone, stays = a_job("s-gone-0", 2, jobset="s"), a_job("s-stays-0", 1, jobset="s")
    desk = Desk().nodes(a_node()).add(gone, stays, a_pod("p", job=stays, cpu="1"))
    assert desk.run() == {}
    desk.ledger.job(gone, None)
    assert desk.run() == {"p": "here"}


def test_a_job_that_grows_is_waited_for() -> None:
    job = a_job("j", 1)
    desk = Desk().nodes(a_node()).add(job, a_pod("p0", job=job, cpu="1"))
    larger = {**job, "spec": {**job["spec"], "parallelism": 2, "completions": 2}}
    desk.ledger.job(job, larger)
    assert desk.run() == {}
    assert desk.why("p0") == "1 of 2 pods of its gang exist"


def test_a_pod_made_anew_under_its_name_is_another_one() -> None:
    desk = Desk().nodes(a_node(cpu="1")).add(a_pod("p", cpu="1"))
    desk.run()
    before = desk.pods["p"]
    after = a_pod("p", cpu="1")
    desk.pods["p"] = after
    desk.ledger.pod(before, after)
    assert desk.free()["cpu"] == 1000
    assert desk.run() == {"p": "here"}


def test_a_pod_that_is_deleted_while_it_is_bound_leaves_nothing() -> None:
    desk = Desk().nodes(a_node(cpu="1")).add(a_pod("p", cpu="1"))
    ledger, pod = desk.ledger, desk.pods["p"]
    [gang] = ledger.line()
    spots = ledger.board.place(gang.candidate(0).required) or []
    ledger.assume(spots)
    ledger.pod(pod, {**pod, "metadata": {**pod["metadata"], "labels": {"new": "label"}}})
    assert desk.free()["cpu"] == 0, "news from before the binding do not undo it"
    ledger.pod(pod, {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-11-15T12:00:09Z"}})
    assert desk.free()["cpu"] == 1000
    ledger.revoke(spots[0].need)
    assert ledger.line() == []


def test_a_pod_that_went_to_another_node_than_decided_counts_there() -> None:
    desk = Desk().nodes(a_node("a", cpu="1"), a_node("b", cpu="1")).add(a_pod("p", cpu="1"))
    ledger, pod = desk.ledger, desk.pods["p"]
    [gang] = ledger.line()
    [spot] = ledger.board.place(gang.candidate(0).required) or []
    ledger.assume([spot])
    other = "b" if spot.node == "a" else "a"
    ledger.pod(pod, {**pod, "spec": {**pod["spec"], "nodeName": other}})
    assert (desk.free(spot.node)["cpu"], desk.free(other)["cpu"]) == (1000, 0)


def test_a_node_that_comes_back_finds_its_pods() -> None:
    node = a_node(cpu="2")
    desk = Desk().nodes(node).add(a_pod("p", cpu="1"))
    desk.run()
    desk.ledger.node(node, None)
    assert desk.add(a_pod("q", cpu="1")).run() == {}
    assert desk.why("q").startswith("there is no node yet")
    desk.nodes(a_node(cpu="2"))
    assert desk.free()["cpu"] == 1000
    assert desk.run() == {"q": "here"}


def test_a_heartbeat_of_a_node_is_no_news() -> None:
    desk = Desk().nodes(a_node())
    desk.ledger.dirty = False
    beat = a_node()
    beat["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-15T12:00:00Z"
    desk.ledger.node(a_node(), beat)
    assert not desk.ledger.dirty


def test_nothing_is_learnt_from_nothing() -> None:
    ledger = Ledger()
    ledger.pod(None, None)
    ledger.node(None, None)
    ledger.job(None, None)
    ledger.root(None, None)
    assert ledger.line() == []


def test_what_relaxing_ignores_is_told() -> None:
    picky, desk = a_pod("p", gpu="2"), Desk(Ledger(relax=True)).nodes(a_node())
    picky["spec"]["nodeSelector"] = {"zone": "x"}
    [spot] = desk.ledger.board.place([of(picky, relax=True)]) or []
    assert spot.ignored is not None
    assert reasons.ignored(spot.ignored) == "relaxed: the node selector zone=x was ignored"
    words = reasons.overdrawn(spot.need, desk.ledger.board.rooms["here"].node.room)
    assert words == "relaxed: requests were ignored: nvidia.com/gpu 2 (this machine has 0)"
    assert reasons.overdrawn(of(a_pod("q", cpu="1"), relax=True), {"cpu": 4000}) == ""


def test_pods_that_fit_one_by_one_but_not_together_are_told_so() -> None:
    job = a_job("j", 2)
    pods = [a_pod(f"p{at}", job=job, cpu="3") for at in range(2)]
    desk = Desk().nodes(a_node("a", cpu="4"), a_node("b", cpu="2")).add(job, *pods)
    assert desk.run() == {}
    assert desk.why("p0") == "its pods do not fit together, even on empty nodes"
