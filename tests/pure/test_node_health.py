"""When a node counts as silent, and what is written then."""

from __future__ import annotations

from tests.pure.scheduler_objects import Desk, a_node, a_pod
from trainshed.controllers.nodehealth import desired
from trainshed.controllers.nodehealth.desired import Sight
from trainshed.kinds.core import podstates
from trainshed.kinds.core.heartbeats import AGENT
from trainshed.kube import conditions
from trainshed.kube.objects import JSON, Object

NOW = "2026-11-15T12:01:00Z"
LEASE: Object = {"spec": {"leaseDurationSeconds": 40, "renewTime": "2026-11-15T12:00:00.000000Z"}}
WORDS = "the node agent has not reported since 2026-11-15T12:00:00Z; `trainshed up` starts it again"
PAUSE = 15.0


def looked(*looks: tuple[float, str]) -> Sight:
    """What is known after looks at these times, which found these beats."""
    sight: Sight | None = None
    for now, beat in looks:
        sight = desired.seen(sight, (beat, ""), now, PAUSE)
    assert sight is not None
    return sight


def every_five_seconds(until: int, beat: str) -> list[tuple[float, str]]:
    return [(float(now), beat) for now in range(0, until + 1, 5)]


def silent(node: Object) -> Object:
    change = desired.silenced(node, LEASE, NOW)
    assert change is not None
    return {**node, "status": {**node["status"], **change["status"]}}


def ours(**labels: str) -> Object:
    return a_node(labels={AGENT: "here", **labels})


def test_a_node_is_silent_when_its_lease_is_older_than_it_may_be() -> None:
    assert not desired.is_silent(looked(*every_five_seconds(40, "a")), LEASE)
    assert desired.is_silent(looked(*every_five_seconds(45, "a")), LEASE)


def test_a_lease_that_is_renewed_begins_anew() -> None:
    assert not desired.is_silent(looked(*every_five_seconds(40, "a"), (45.0, "b")), LEASE)


def test_a_lease_that_is_old_at_the_first_look_has_its_full_time() -> None:
    assert looked((1000.0, "long ago")).seconds == 0


def test_who_could_not_look_for_a_while_begins_anew() -> None:
    looks = looked(*every_five_seconds(35, "a"), (90.0, "a"), (95.0, "a"))
    assert looks.seconds == 5


def test_a_silent_node_is_told_once_with_what_to_do() -> None:
    node = silent(ours())
    ready = conditions.find(node["status"]["conditions"], "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"], ready["message"]) == ("Unknown", "NodeStatusUnknown", WORDS)
    assert desired.silenced(node, LEASE, NOW) is None


def test_nodes_of_other_agents_are_nobody_s_business_here() -> None:
    assert not desired.is_ours(a_node())
    assert desired.silence(silent(a_node())) == ""


def on_here(phase: str = "Pending", **meta: JSON) -> Object:
    pod = a_pod("p")
    pod["metadata"] |= meta
    return {**pod, "spec": {**pod["spec"], "nodeName": "here"}, "status": {"phase": phase}}


def test_a_pod_that_has_not_started_says_that_its_node_is_silent() -> None:
    pod = on_here()
    change = desired.held_up(pod, silent(ours()), NOW)
    assert change is not None
    pod["status"] |= change["status"]
    found = podstates.waiting(pod)
    assert found == ("NodeNotReady", f"node here is not ready: {WORDS}")
    assert desired.held_up(pod, silent(ours()), NOW) is None, "said already"


def test_pods_that_run_or_go_and_those_of_living_nodes_are_left_alone() -> None:
    assert desired.held_up(on_here("Running"), silent(ours()), NOW) is None
    assert desired.held_up(on_here(deletionTimestamp=NOW), silent(ours()), NOW) is None
    assert desired.held_up(on_here(), ours(), NOW) is None


def test_nobody_is_placed_on_a_silent_node_and_the_words_say_why() -> None:
    desk = Desk().nodes(silent(ours())).add(a_pod("p"))
    assert desk.run() == {}
    assert desk.why("p") == f"node here is not ready: {WORDS}"
