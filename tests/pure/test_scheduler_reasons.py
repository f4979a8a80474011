"""Why something waits, in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pure.scheduler_objects import Desk, a_job, a_node, a_pod
from trainshed.controllers.scheduler import reasons, telling
from trainshed.controllers.scheduler.gangs import Gang
from trainshed.controllers.scheduler.reasons import Reason
from trainshed.controllers.scheduler.telling import AT_ONCE, BREATH, LIVE, PATIENCE, PAUSE, Telling
from trainshed.kube.objects import Object

TAINT = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
NodeAffinity = "requiredDuringSchedulingIgnoredDuringExecution"


def why(pod: Object, *nodes: Object) -> str:
    desk = Desk().nodes(*nodes).add(pod)
    assert desk.run() == {}
    return desk.why(pod["metadata"]["name"])


def with_spec(pod: Object, **spec: object) -> Object:
    return {**pod, "spec": {**pod["spec"], **spec}}


ZONES = a_node("one", labels={"zone": "a"}), a_node("two")
AFFINITY = {
    "nodeAffinity": {
        NodeAffinity: {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "c"]}]}
            ]
        }
    }
}


@pytest.mark.parametrize(
    ("pod", "nodes", "words"),
    [
        (a_pod("p", gpu="2"), [a_node()], "needs nvidia.com/gpu 2, this machine has 0"),
        (a_pod("p", cpu="8"), [a_node()], "needs cpu 8, this machine has 4"),
        (a_pod("p", memory="64Gi"), [a_node()], "needs memory 64Gi, this machine has 16Gi"),
        (a_pod("p", cpu="9", gpu="2"), [a_node()], "needs nvidia.com/gpu 2, this machine has 0"),
        (
            a_pod("p", gpu="2"),
            [a_node(), a_node("g", gpu="1")],
            "needs nvidia.com/gpu 2, the largest node (g) has 1",
        ),
        (
            a_pod("p", gpu="2"),
            [a_node(), a_node("g", gpu="8", taints=[TAINT])],
            "needs nvidia.com/gpu 2, node here has 0; node g has enough, but has taint "
            "dedicated=training:NoSchedule, which it does not tolerate",
        ),
        (
            with_spec(a_pod("p", gpu="2"), nodeSelector={"zone": "a"}),
            [a_node(labels={"zone": "a"}), a_node("g", gpu="8")],
            "needs nvidia.com/gpu 2, node here has 0; node g has enough, but not the label zone=a",
        ),
        (
            with_spec(a_pod("p", gpu="2"), nodeSelector={"name": "g"}),
            [a_node(), a_node("g", gpu="1")],
            "needs nvidia.com/gpu 2, node g has 1",
        ),
        (
            with_spec(a_pod("p"), nodeSelector={"zone": "x"}),
            ZONES,
            "no node has label zone=x; nodes: one (zone=a), two (no zone)",
        ),
        (
            with_spec(a_pod("p"), nodeSelector={"zone": "a", "name": "two"}),
            ZONES,
            "no node has labels name=two and zone=a; nodes: one (name=one, zone=a), two (name=two, no zone)",
        ),
        (
            with_spec(a_pod("p"), nodeSelector={"name": "two"}, affinity=AFFINITY),
            [a_node("one", labels={"zone": "b"}), a_node("two")],
            "no node fits its nodeSelector and node affinity zone in (b,c); nodes: one, two",
        ),
        (
            with_spec(a_pod("p"), nodeSelector={"zone": "a"}),
            [a_node(), a_node("closed", labels={"zone": "a"}, taints=[TAINT])],
            "node closed has taint dedicated=training:NoSchedule, which it does not tolerate",
        ),
        (
            with_spec(a_pod("p"), affinity=AFFINITY),
            ZONES,
            "no node fits its node affinity zone in (b,c); nodes: one, two",
        ),
        (
            a_pod("p"),
            [a_node(taints=[TAINT])],
            "node here has taint dedicated=training:NoSchedule, which it does not tolerate",
        ),
        (a_pod("p"), [], "there is no node yet: the agent of this machine has not registered one"),
    ],
)
def test_what_can_never_run_is_told_what_is_missing(pod: Object, nodes: list[Object], words: str) -> None:
    assert why(pod, *nodes) == words


def test_a_busy_machine_is_told_with_who_uses_it() -> None:
    desk = Desk().nodes(a_node(cpu="4")).add(a_pod("a", cpu="2"), a_pod("b", cpu="1500m"))
    desk.run()
    desk.add(a_pod("c", cpu="4"))
    desk.run()
    assert desk.why("c") == "needs cpu 4, 500m of 4 free; default/a has 2, default/b 1500m"


def elsewhere(pod: Object) -> Object:
    pod["metadata"]["namespace"] = "tenant"
    return pod


def test_nobody_is_told_what_there_is_in_other_namespaces() -> None:
    desk = Desk().nodes(a_node(cpu="4")).add(elsewhere(a_pod("a", cpu="2")), a_pod("b", cpu="500m"))
    desk.run()
    desk.add(elsewhere(a_pod("large", cpu="4")), a_pod("c", cpu="3"), a_pod("small", cpu="1"))
    desk.run()
    assert desk.why("c") == "needs cpu 3, 1500m of 4 free; other namespaces have 2, default/b 500m"
    large, _, small = desk.ledger.line()
    found = reasons.why(small.candidate(0), desk.ledger.board, large.candidate(0))
    assert found.words == "a job of another namespace is first in line and needs the room"


def test_many_users_are_not_all_named() -> None:
    desk = Desk().nodes(a_node(cpu="8")).add(*(a_pod(f"p{at}", cpu="1") for at in range(8)))
    desk.run()
    desk.add(a_pod("late", cpu="1"))
    words = desk.why("late")
    assert words == (
        "needs cpu 1, 0 of 8 free; default/p0 has 1, default/p1 1, default/p2 1, default/p3 1 and 4 more"
    )


def test_a_gang_is_told_how_many_of_it_fit() -> None:
    job = a_job("j-node-0", 2, jobset="j")
    desk = Desk().nodes(a_node(cpu="4")).add(a_pod("a", cpu="2"))
    desk.run()
    desk.add(job, *(a_pod(f"p{at}", job=job, cpu="2") for at in range(2)))
    desk.run()
    words = "1 of 2 pods fit; needs cpu 2, 0 of 4 free; default/a has 2, this job 2"
    assert desk.why("p0") == words


def test_a_gang_that_can_never_fit_is_told_so_at_its_first_pod() -> None:
    job = a_job("j-node-0", 200, jobset="j")
    desk = Desk().nodes(a_node()).add(job, a_pod("p0", job=job))
    assert desk.run() == {}
    assert desk.why("p0") == "needs pods 200 for its 200 pods, this machine has 110"
    small = a_job("s-node-0", 2, jobset="s")
    desk.add(small, a_pod("s0", job=small, cpu="1"))
    assert desk.why("s0") == "1 of 2 pods of its gang exist"


def two_by_two(*nodes: Object, **spec: object) -> str:
    """The words for a gang of two pods with two GPUs each, on nodes where a job has those of `busy`."""
    desk = Desk().nodes(*nodes).add(with_spec(a_pod("g1", gpu="2"), nodeSelector={"name": "busy"}))
    desk.run()
    job = a_job("g-node-0", 2, jobset="g")
    desk.add(job, *(with_spec(a_pod(f"g-{at}", job=job, gpu="2"), **spec) for at in range(2)))
    assert desk.run() == {}
    return desk.why("g-0")


def test_of_several_nodes_the_one_is_named_that_others_use() -> None:
    nodes = a_node(), a_node("empty", gpu="2", taints=[TAINT]), a_node("busy", gpu="2")
    assert two_by_two(*nodes, tolerations=[{"key": "dedicated", "operator": "Exists"}]) == (
        "1 of 2 pods fit; needs nvidia.com/gpu 2, 0 of 2 free on busy; default/g1 has 2"
    )


def test_a_node_that_is_too_small_anyway_is_not_waited_for() -> None:
    desk = Desk().nodes(a_node(), a_node("busy", gpu="2", cpu="1"))
    desk.add(with_spec(a_pod("a", gpu="2", cpu="1"), nodeSelector={"name": "busy"}))
    desk.run()
    desk.add(a_pod("p", gpu="1", cpu="1"))
    assert desk.why("p") == "needs nvidia.com/gpu 1, 0 of 2 free on busy; default/a has 2"


def test_a_gang_is_told_which_node_it_may_not_use_when_the_others_are_too_small() -> None:
    nodes = a_node(), a_node("closed", gpu="2", taints=[TAINT]), a_node("busy", gpu="2")
    assert two_by_two(*nodes) == (
        "needs nvidia.com/gpu 4 for its 2 pods, the nodes it may use have 2; node closed has 2 more, but has "
        "taint dedicated=training:NoSchedule, which it does not tolerate"
    )


def test_a_gang_that_does_not_fit_together_is_told_who_would_have_enough() -> None:
    nodes = a_node("closed", gpu="2", taints=[TAINT]), a_node("busy", gpu="3"), a_node("small", gpu="1")
    assert two_by_two(*nodes) == (
        "its pods do not fit together, even on empty nodes; node closed has enough, but has "
        "taint dedicated=training:NoSchedule, which it does not tolerate"
    )


def test_whoever_must_not_pass_is_told_whose_turn_it_is() -> None:
    desk = Desk().nodes(a_node(cpu="4")).add(a_pod("a", cpu="2"))
    desk.run()
    desk.add(a_pod("large", cpu="4"), a_pod("small", cpu="1"))
    assert desk.run() == {}
    large, small = desk.ledger.line()
    head = large.candidate(0)
    found = reasons.why(small.candidate(0), desk.ledger.board, head)
    assert found.words == "default/large is first in line and needs the room"


def test_a_cordoned_node_is_told_with_the_way_out() -> None:
    node = a_node()
    node["spec"]["unschedulable"] = True
    assert why(a_pod("p"), node).endswith("kubectl uncordon here lets pods in again")


def test_a_closed_node_is_told_only_where_it_would_do_and_others_would_not() -> None:
    open_one, closed = a_node("open"), a_node("closed", labels={"zone": "a"})
    closed["spec"]["unschedulable"] = True
    wants = with_spec(a_pod("p"), nodeSelector={"zone": "a"})
    assert why(wants, open_one, closed).startswith("node closed is cordoned")
    wants = with_spec(a_pod("p"), nodeSelector={"zone": "b"})
    assert why(wants, open_one, closed) == "no node has label zone=b; nodes: open (no zone), closed (zone=a)"


# --- how often it is told -----------------------------------------------------------------------------------


def constantly(words: str, *sign: str, lasting: bool = False) -> Callable[[Gang], Reason]:
    return lambda gang: Reason(words, sign, lasting)


def gangs(count: int) -> list[Gang]:
    return [Gang(("pod", "default", str(at))) for at in range(count)]


def test_whoever_waits_only_a_moment_is_told_nothing() -> None:
    [gang], told = gangs(1), Telling()
    assert told.due(100.0, [gang], constantly("busy")) == ([], PATIENCE)
    due, wait = told.due(100.01 + PATIENCE, [gang], constantly("busy"))
    assert ([reason.words for _, reason in due], wait) == (["busy"], None)


def test_what_never_fits_is_told_at_once() -> None:
    [gang] = gangs(1)
    due, _ = Telling().due(100.0, [gang], constantly("never", lasting=True))
    assert len(due) == 1


def test_the_same_reason_is_told_once_and_another_one_again() -> None:
    [gang], told = gangs(1), Telling()
    told.due(100.0, [gang], constantly("never", "gpu", lasting=True))
    assert told.due(101.0, [gang], constantly("never", "gpu", lasting=True))[0] == []
    assert len(told.due(102.0, [gang], constantly("busy", "cpu"))[0]) == 1


def test_new_numbers_wait_a_little_at_the_front_of_the_line_and_do_not_matter_at_its_end() -> None:
    line, told = gangs(LIVE + 1), Telling()
    told.due(100.0, line, constantly("1 of 2", "cpu", lasting=True))
    assert told.due(101.0, line, constantly("2 of 2", "cpu"))[0] == []
    due, _ = told.due(100.0 + PAUSE, line, constantly("2 of 2", "cpu"))
    assert [gang for gang, _ in due] == line[:LIVE]


def test_many_are_told_in_turns() -> None:
    line, told, now = gangs(AT_ONCE * 2), Telling(), 100.0
    first, wait = told.due(now, line, constantly("never", lasting=True))
    assert (len(first), wait) == (AT_ONCE, BREATH)
    second, _ = told.due(now + BREATH + 0.01, line, constantly("never", lasting=True))
    assert [*(gang for gang, _ in first), *(gang for gang, _ in second)] == line


def test_the_time_of_a_condition_is_that_of_its_beginning() -> None:
    first = telling.condition(None, "a", "2026-01-01T00:00:00Z")
    second = telling.condition(first, "b", "2026-01-01T00:00:09Z")
    assert (second["message"], second["lastTransitionTime"]) == ("b", "2026-01-01T00:00:00Z")
