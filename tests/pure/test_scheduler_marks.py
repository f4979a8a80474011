"""Gangs of pods that no Job made: they say themselves how many of them there must be."""

from __future__ import annotations

from tests.pure.scheduler_objects import NOW, Desk, a_node, a_pod
from trainshed.kinds.scheduling.gangs import MINIMUM
from trainshed.kube.objects import Object, copied


def a_member(name: str, least: int | None, job: str = "j") -> Object:
    """A pod of a PyTorchJob."""
    pod = a_pod(name, cpu="1")
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": job, "uid": f"uid-{job}"}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    if least is not None:
        pod["metadata"]["annotations"][MINIMUM] = str(least)
    return pod


def a_pytorchjob(name: str, created: str = NOW, **run_policy: bool) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"runPolicy": run_policy}}


def test_nobody_starts_before_as_many_exist_as_are_needed() -> None:
    desk = Desk().nodes(a_node()).add(a_member("j-master-0", 3), a_member("j-worker-0", 3))
    assert desk.run() == {}
    assert desk.why("j-master-0") == "2 of 3 pods of its gang exist"
    desk.add(a_member("j-worker-1", 3))
    assert set(desk.run()) == {"j-master-0", "j-worker-0", "j-worker-1"}


def test_all_of_them_or_none_find_a_place() -> None:
    desk = Desk().nodes(a_node(cpu="2")).add(*(a_member(f"j-worker-{at}", 3) for at in range(3)))
    assert desk.run() == {}
    assert desk.why("j-worker-0") == "needs cpu 3 for its 3 pods, this machine has 2"


def test_two_jobs_do_not_wait_for_each_other_s_pods() -> None:
    desk = Desk().nodes(a_node()).add(a_member("a-0", 2, "a"), a_member("b-0", 2, "b"))
    assert desk.run() == {}
    assert set(desk.add(a_member("b-1", 2, "b")).run()) == {"b-0", "b-1"}


def test_what_a_job_can_do_without_may_follow() -> None:
    desk = Desk().nodes(a_node(cpu="2")).add(*(a_member(f"j-worker-{at}", 2) for at in range(3)))
    assert set(desk.run()) == {"j-worker-0", "j-worker-1"}
    desk.nodes(a_node("there", cpu="1"))
    assert desk.run() == {"j-worker-2": "there"}


def test_a_pod_without_a_mark_starts_alone_beside_its_likes() -> None:
    desk = Desk().nodes(a_node()).add(*(a_member(f"j-worker-{at}", 2) for at in range(2)))
    desk.run()
    desk.finish("j-worker-0")
    assert desk.add(a_member("j-worker-0", None)).run() == {"j-worker-0": "here"}


def test_a_mark_that_changes_counts_at_once() -> None:
    pods = [a_member(f"j-worker-{at}", 3) for at in range(2)]
    desk = Desk().nodes(a_node()).add(*pods)
    assert desk.run() == {}
    for pod in pods:
        after = copied(pod)
        after["metadata"]["annotations"][MINIMUM] = "2"
        desk.pods[pod["metadata"]["name"]] = after
        desk.ledger.pod(pod, after)
    assert set(desk.run()) == {"j-worker-0", "j-worker-1"}


def test_who_was_made_first_is_first_in_line_though_its_pods_came_later() -> None:
    desk = Desk().nodes(a_node(cpu="1"))
    desk.ledger.root(None, a_pytorchjob("old", "2026-11-15T11:00:00Z"))
    desk.ledger.root(None, a_pytorchjob("new", "2026-11-15T11:30:00Z"))
    desk.add(a_member("new-0", None, "new"), a_member("old-0", None, "old"))
    assert desk.run() == {"old-0": "here"}


def test_a_suspended_job_is_not_waited_for() -> None:
    desk = Desk().nodes(a_node())
    desk.ledger.is_live = True
    desk.ledger.root(None, a_pytorchjob("asleep", suspend=True))
    desk.ledger.root(None, a_pytorchjob("awake", "2026-11-15T12:30:00Z"))
    assert desk.add(a_member("awake-0", None, "awake")).run() == {"awake-0": "here"}
