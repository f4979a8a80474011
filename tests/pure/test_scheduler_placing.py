"""Who gets a place, and when."""

from __future__ import annotations

import pytest

from tests.pure.scheduler_objects import Desk, a_job, a_node, a_pod
from trainshed.controllers.scheduler import amounts
from trainshed.controllers.scheduler.ledger import Ledger
from trainshed.controllers.scheduler.needs import GROUP_ANNOTATION, GROUP_LABEL, RELAX
from trainshed.kinds.scheduling.gangs import MINIMUM
from trainshed.kube.objects import Object, plant

TAINT = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def container(restart: str = "", **requests: str) -> Object:
    found: Object = {"resources": {"requests": requests}}
    return {**found, "restartPolicy": restart} if restart else found


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container(cpu="1"), container(cpu="500m")]}, 1500),
        ({"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]}, 3000),
        ({"containers": [container(cpu="1")], "initContainers": [container("Always", cpu="2")]}, 3000),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [container("Always", cpu="1"), container(cpu="4")],
            },
            5000,
        ),
        ({"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000),
        ({"containers": [container(cpu="nonsense")]}, 0),
        ({"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2"}}}, 2000),
    ],
)
def test_a_pod_takes_what_its_containers_do_at_their_worst(spec: Object, cpu: int) -> None:
    assert amounts.of_pod(spec).get("cpu", 0) == cpu


def test_a_pod_that_fits_is_placed_and_one_that_does_not_waits() -> None:
    desk = Desk().nodes(a_node(cpu="2")).add(a_pod("a", cpu="2"), a_pod("b", cpu="1"))
    assert desk.run() == {"a": "here"}
    desk.finish("a")
    assert desk.run() == {"b": "here"}


def test_a_gang_waits_until_all_its_pods_exist() -> None:
    job = a_job("j-node-0", 2, jobset="j")
    desk = Desk().nodes(a_node()).add(job, a_pod("p0", job=job, cpu="1"))
    assert desk.run() == {}
    assert desk.why("p0") == "1 of 2 pods of its gang exist"
    desk.add(a_pod("p1", job=job, cpu="1"))
    assert desk.run() == {"p0": "here", "p1": "here"}


def test_a_gang_spans_the_jobs_of_its_jobset() -> None:
    launcher, nodes = a_job("m-launcher-0", 1, jobset="m"), a_job("m-node-0", 2, jobset="m")
    desk = Desk().nodes(a_node(cpu="2")).add(launcher, nodes)
    desk.add(a_pod("launcher", job=launcher, cpu="1"), a_pod("n0", job=nodes, cpu="1"))
    assert desk.run() == {}
    desk.add(a_pod("n1", job=nodes, cpu="1"))
    assert desk.run() == {}, "three pods do not fit two cpus"
    assert desk.why("n1") == "needs cpu 3 for its 3 pods, this machine has 2"


def test_pods_that_come_before_their_job_are_known_wait_for_it() -> None:
    job = a_job("early", 2)
    desk = Desk().nodes(a_node()).add(a_pod("p0", job=job, cpu="1"))
    assert desk.run() == {}
    desk.add(job)
    assert desk.run() == {}, "one of two"
    desk.add(a_pod("p1", job=job, cpu="1"))
    assert set(desk.run()) == {"p0", "p1"}


def test_a_replaced_pod_joins_the_others_of_its_gang() -> None:
    job = a_job("j-node-0", 2, jobset="j")
    desk = Desk().nodes(a_node(cpu="2")).add(job)
    desk.add(a_pod("p0", job=job, cpu="1"), a_pod("p1", job=job, cpu="1"))
    desk.run()
    desk.finish("p1")
    desk.add(a_pod("p1-again", job=job, cpu="1"))
    assert desk.run() == {"p1-again": "here"}


def test_pods_of_a_queue_of_work_are_placed_one_by_one() -> None:
    for job in (a_job("queue", 3, indexed=False), a_job("wide", 4)):
        job["spec"]["completions"] = 9
        desk = Desk().nodes(a_node(cpu="1")).add(job)
        desk.add(a_pod("p0", job=job, cpu="1"), a_pod("p1", job=job, cpu="1"))
        assert desk.run() == {"p0": "here"}


def test_a_job_that_is_suspended_or_over_expects_no_more_pods() -> None:
    over, node = a_job("t-init-0", 1, jobset="t"), a_job("t-node-0", 1, jobset="t")
    over["status"]["conditions"] = [{"type": "Complete", "status": "True"}]
    suspended = a_job("t-late-0", 3, jobset="t")
    suspended["spec"]["suspend"] = True
    desk = Desk().nodes(a_node()).add(over, suspended, node, a_pod("n0", job=node, cpu="1"))
    assert desk.run() == {"n0": "here"}


@pytest.mark.parametrize("mark", [("labels", GROUP_LABEL), ("annotations", GROUP_ANNOTATION)])
def test_a_pod_group_is_a_gang_whatever_jobs_it_comes_from(mark: tuple[str, str]) -> None:
    jobs = [a_job("one", 1), a_job("two", 1)]
    for job in jobs:
        plant(job, "team", "spec", "template", "metadata", *mark)
    desk = Desk().nodes(a_node(cpu="1")).add(*jobs)
    desk.add(*(a_pod(f"p{at}", job=job, cpu="1") for at, job in enumerate(jobs)))
    assert desk.run() == {}
    assert desk.why("p0") == "needs cpu 2 for its 2 pods, this machine has 1"


def test_an_elastic_gang_starts_with_its_minimum_and_grows_when_there_is_room() -> None:
    job = a_job("e-node-0", 3, jobset="e")
    plant(job, "1", "spec", "template", "metadata", "annotations", MINIMUM)
    desk = Desk().nodes(a_node(cpu="2")).add(job, a_pod("other", cpu="1"))
    desk.run()
    desk.add(*(a_pod(f"p{at}", job=job, cpu="1") for at in range(3)))
    assert desk.run() == {"p0": "here"}
    desk.finish("other")
    assert desk.run() == {"p1": "here"}


def test_a_gated_pod_holds_back_its_gang() -> None:
    job = a_job("g-node-0", 2, jobset="g")
    gated = a_pod("p1", job=job, cpu="1")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/hold"}]
    desk = Desk().nodes(a_node()).add(job, a_pod("p0", job=job, cpu="1"), gated)
    assert desk.run() == {}
    assert desk.why("p0") == "pod p1 is held back by scheduling gates"
    free = {**gated, "spec": {**gated["spec"], "schedulingGates": []}}
    desk.pods["p1"] = free
    desk.ledger.pod(gated, free)
    assert set(desk.run()) == {"p0", "p1"}


def test_priority_goes_first_then_whoever_came_first() -> None:
    urgent, late, early = a_pod("urgent", cpu="2"), a_pod("late", cpu="2"), a_pod("early", cpu="2")
    urgent["spec"]["priority"] = 100
    early["metadata"]["creationTimestamp"] = "2026-11-15T11:59:59Z"
    desk = Desk().nodes(a_node(cpu="2")).add(late, early, urgent)
    for name in ("urgent", "early", "late"):
        assert desk.run() == {name: "here"}
        desk.finish(name)


def test_small_jobs_pass_a_large_one_only_where_it_loses_nothing() -> None:
    desk = Desk().nodes(a_node(cpu="4")).add(a_pod("running", cpu="2"))
    desk.run()
    desk.add(a_pod("large", cpu="3"), a_pod("small", cpu="1"), a_pod("next", cpu="1"))
    assert desk.run() == {"small": "here"}, "with the next one there would be too little for the large one"
    assert desk.head == "default/large"
    desk.finish("running")
    assert desk.run() == {"large": "here"}
    desk.finish("small")
    assert desk.run() == {"next": "here"}


def test_what_can_never_run_holds_up_nobody() -> None:
    desk = (
        Desk()
        .nodes(a_node(cpu="2"))
        .add(a_pod("giant", cpu="64"), a_pod("gpu", gpu="1"), a_pod("b", cpu="2"))
    )
    assert desk.run() == {"b": "here"}


def test_a_gang_is_spread_over_nodes_and_packed_where_it_must_be() -> None:
    job = a_job("s", 2)
    pods = [a_pod(f"p{at}", job=job, cpu="1") for at in range(2)]
    desk = Desk().nodes(a_node("a"), a_node("b")).add(job, *pods)
    assert set(desk.run().values()) == {"a", "b"}
    mixed = a_job("m", 3)
    trio = [a_pod(f"m{at}", job=mixed, cpu=cpu) for at, cpu in enumerate(("2", "2", "4"))]
    desk = Desk().nodes(a_node("a"), a_node("b")).add(mixed, *trio)
    assert len(desk.run()) == 3


def constrained(name: str, **spec: object) -> Object:
    pod = a_pod(name, cpu="1")
    pod["spec"].update(spec)
    return pod


def required(expressions: list[Object], part: str = "matchExpressions") -> Object:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{part: expressions}]}}}


def preferred(expressions: list[Object]) -> Object:
    term = {"weight": 10, "preference": {"matchExpressions": expressions}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"zone": "b"}},
        {"affinity": required([{"key": "zone", "operator": "In", "values": ["b", "c"]}])},
        {"affinity": required([{"key": "zone", "operator": "NotIn", "values": ["a"]}])},
        {"affinity": required([{"key": "memory", "operator": "Gt", "values": ["100"]}])},
        {"affinity": required([{"key": "metadata.name", "operator": "In", "values": ["b"]}], "matchFields")},
        {"affinity": preferred([{"key": "zone", "operator": "In", "values": ["b"]}])},
    ],
)  # fmt: skip
def test_labels_and_affinity_lead_to_the_node_that_fits(spec: Object) -> None:
    nodes = (
        a_node("a", labels={"zone": "a", "memory": "16"}),
        a_node("b", labels={"zone": "b", "memory": "512"}),
    )
    assert Desk().nodes(*nodes).add(constrained("p", **spec)).run() == {"p": "b"}


@pytest.mark.parametrize(
    ("tolerations", "node"),
    [
        ([], "plain"),
        ([{"key": "dedicated", "operator": "Equal", "value": "other"}], "plain"),
        ([{"key": "dedicated", "operator": "Equal", "value": "training"}], "tainted"),
        ([{"key": "dedicated", "value": "training", "effect": "NoSchedule"}], "tainted"),
        ([{"key": "dedicated", "value": "training", "effect": "NoExecute"}], "plain"),
        ([{"operator": "Exists"}], "tainted"),
    ],
)
def test_taints_keep_pods_away_that_do_not_tolerate_them(tolerations: list[Object], node: str) -> None:
    nodes = a_node("plain", cpu="1"), a_node("tainted", cpu="64", taints=[TAINT])
    desk = Desk().nodes(*nodes).add(constrained("p", tolerations=tolerations))
    assert desk.run() == {"p": node}


def near(kind: str, **labels: str) -> Object:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "zone"}
    return {"affinity": {kind: {REQUIRED: [term]}}}


def test_pods_go_near_those_they_like_and_far_from_those_they_do_not() -> None:
    nodes = (
        a_node("a", labels={"zone": "a"}),
        a_node("b", labels={"zone": "b"}),
        a_node("c", labels={"zone": "b"}),
    )
    desk = Desk().nodes(*nodes)
    first = constrained("first", **near("podAntiAffinity", app="x"))
    first["metadata"]["labels"] = {"app": "x"}
    second = constrained("second", **near("podAntiAffinity", app="x"))
    second["metadata"]["labels"] = {"app": "x"}
    desk.add(first)
    [place] = desk.run().values()
    zone = "a" if place == "a" else "b"
    desk.add(second)
    [other] = desk.run().values()
    assert ("a" if other == "a" else "b") != zone
    plain = a_pod("plain", cpu="1")
    plain["metadata"]["labels"] = {"app": "x"}
    desk.add(plain)
    assert desk.run() == {}, "both zones hold somebody who minds"
    desk.add(
        constrained("friend", **near("podAffinity", app="x")),
        constrained("alone", **near("podAffinity", app="y")),
    )
    assert "friend" in desk.run()
    assert desk.why("alone") == "no node fits its pod affinity"


def test_the_first_of_a_group_that_wants_to_be_together_may_begin() -> None:
    pods = []
    for name in ("p0", "p1"):
        pod = constrained(name, **near("podAffinity", app="x"))
        pod["metadata"]["labels"] = {"app": "x"}
        pods.append(pod)
    desk = Desk().nodes(a_node("a", labels={"zone": "a"}), a_node("b", labels={"zone": "b"})).add(*pods)
    assert len(set(desk.run().values())) == 1


@pytest.mark.parametrize("sizes", [("3", "2"), ("2", "3")])
def test_pods_that_must_be_near_a_fellow_follow_it_to_a_node_with_room_for_all(
    sizes: tuple[str, str],
) -> None:
    """Only the workers ask to be near; the master is smaller, and must not be left alone for that."""
    labels = ({"zone": "a"}, {"zone": "b"})
    nodes = [a_node(one["zone"], labels=one, gpu=size) for one, size in zip(labels, sizes, strict=True)]
    roomy = "a" if sizes[0] == "3" else "b"
    assert set(Desk().nodes(*nodes).add(*a_led_gang()).run().values()) == {roomy}


def test_a_gang_that_must_be_together_tries_every_node() -> None:
    """Neither the emptiest node nor the fullest one has room for all, but one between them has."""
    nodes = [
        a_node(name, labels={"zone": name}, gpu=gpu) for name, gpu in (("a", "2"), ("b", "8"), ("c", "1"))
    ]
    busy = constrained("busy", nodeSelector={"zone": "b"})
    busy["spec"]["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "5"}}
    desk = Desk().nodes(*nodes).add(busy)
    desk.run()
    assert set(desk.add(*a_led_gang()).run().values()) == {"b"}


def a_led_gang() -> list[Object]:
    pods = [a_pod("master", gpu="1"), *(a_pod(f"worker-{index}", gpu="1", cpu="1") for index in range(2))]
    for pod in pods:
        pod["metadata"] |= {"labels": {"job": "j", "scheduling.x-k8s.io/pod-group": "j"}}
        if pod["metadata"]["name"] != "master":
            pod["spec"] |= near("podAffinity", job="j")
    return pods


def test_relaxed_pods_run_whatever_they_ask_for() -> None:
    desk = Desk(Ledger(relax=True)).nodes(a_node(cpu="1"))
    desk.add(a_pod("gpus", gpu="8"), a_pod("big", cpu="64"), constrained("picky", nodeSelector={"zone": "x"}))
    assert set(desk.run()) == {"gpus", "big", "picky"}
    assert desk.free()["cpu"] == 1000


def test_a_relaxed_pod_keeps_to_nodes_it_can_have() -> None:
    desk = Desk(Ledger(relax=True)).nodes(a_node("a"), a_node("b", labels={"zone": "x"}))
    assert desk.add(constrained("picky", nodeSelector={"zone": "x"})).run() == {"picky": "b"}


def test_one_pod_alone_may_be_relaxed() -> None:
    relaxed = a_pod("relaxed", gpu="8")
    relaxed["metadata"]["annotations"] = {RELAX: "true"}
    assert set(Desk().nodes(a_node()).add(relaxed, a_pod("strict", gpu="8")).run()) == {"relaxed"}


def test_a_node_that_is_cordoned_not_ready_or_gone_takes_nothing() -> None:
    cordoned, broken = a_node("cordoned"), a_node("broken")
    cordoned["spec"]["unschedulable"] = True
    broken["status"]["conditions"][0]["status"] = "Unknown"
    desk = Desk().nodes(cordoned, broken, a_node("gone"))
    desk.ledger.node(a_node("gone"), None)
    assert desk.add(a_pod("p", cpu="1")).run() == {}


def test_what_runs_on_a_node_counts_even_if_the_pod_was_seen_before_the_node() -> None:
    bound = a_pod("bound", cpu="3")
    bound["spec"]["nodeName"] = "here"
    desk = Desk().add(bound).nodes(a_node())
    assert desk.free()["cpu"] == 1000
    assert desk.add(a_pod("p", cpu="2")).run() == {}


def test_a_placement_the_server_refused_is_taken_back() -> None:
    desk = Desk().nodes(a_node(cpu="2")).add(a_pod("p", cpu="2"))
    ledger = desk.ledger
    [gang] = ledger.line()
    spots = ledger.board.place(gang.candidate(0).required)
    assert spots is not None
    ledger.assume(spots)
    assert ledger.line() == []
    ledger.revoke(spots[0].need)
    assert desk.run() == {"p": "here"}


def test_pods_of_another_scheduler_and_pods_on_their_way_out_are_left_alone() -> None:
    other, leaving = a_pod("other", cpu="1"), a_pod("leaving", cpu="1")
    other["spec"]["schedulerName"] = "volcano"
    leaving["metadata"]["deletionTimestamp"] = "2026-11-15T12:00:01Z"
    assert Desk().nodes(a_node()).add(other, leaving).run() == {}
