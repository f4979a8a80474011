"""The machine as a node, and nodes that are only pretended."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trainshed.kube import conditions
from trainshed.kube.objects import Object
from trainshed.runner import machine, node
from trainshed.runner.engine import Features
from trainshed.runner.machine import Machine
from trainshed.runner.settings import SimulatedNode, Taint

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
HERE = Machine("box", "192.0.2.7", 8, 16 << 30, 100 << 30, ("0", "1"), "6.1", "Debian", "amd64", "mid", "bid")
FEATURES = Features("sandbox", (), ("no outbound network: install slirp4netns",))


def test_the_machine_offers_what_it_has() -> None:
    (own,) = node.plans(HERE, [])
    assert own.name == "box"
    assert own.capacity == {
        "cpu": "8",
        "memory": "16Gi",
        "ephemeral-storage": "104857600Ki",
        "pods": "110",
        "nvidia.com/gpu": "2",
    }
    assert own.devices == ("0", "1")


def test_pretended_nodes_stand_beside_it() -> None:
    wish = SimulatedNode("big", "64", "512Gi", 8, (("zone", "a"),), (Taint("gpu"),))
    _, big = node.plans(HERE, [wish])
    assert big.capacity["nvidia.com/gpu"] == "8"
    made = node.node(big, HERE, FEATURES)
    labels = made["metadata"]["labels"]
    assert (labels["zone"], labels["kubernetes.io/hostname"], labels[node.SIMULATED]) == ("a", "big", "true")
    assert made["spec"] == {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}


def test_a_pretended_node_of_its_own_name_replaces_the_machine() -> None:
    (only,) = node.plans(HERE, [SimulatedNode("box", "1", "1Gi")])
    assert only.capacity["cpu"] == "1"


def test_a_node_says_how_its_pods_run_and_what_that_cannot_do() -> None:
    (own,) = node.plans(HERE, [])
    made = node.node(own, HERE, FEATURES)
    assert made["metadata"]["annotations"] == {
        "trainshed.dev/runner": "sandbox",
        "trainshed.dev/runner-cannot": "no outbound network: install slirp4netns",
    }
    assert "spec" not in made, "taints of the machine are its users' business"


@pytest.mark.parametrize(("ready", "expected"), [(True, "True"), (False, "False")])
def test_a_node_is_ready_until_its_agent_leaves(ready: bool, expected: str) -> None:
    (own,) = node.plans(HERE, [])
    found = node.status(own, HERE, {}, NOW, ready=ready)
    condition = conditions.find(found["conditions"], "Ready")
    assert condition is not None
    assert condition["status"] == expected
    assert len(found["conditions"]) == 4
    assert len(found["nodeInfo"]) == 10


def test_conditions_of_others_survive_a_report() -> None:
    (own,) = node.plans(HERE, [])
    before: Object = {"status": {"conditions": [{"type": "Mine", "status": "True"}]}}
    found = node.status(own, HERE, before, NOW)["conditions"]
    assert conditions.is_true(found, "Mine")


@pytest.mark.parametrize(
    ("hostname", "expected"), [("Box.Local", "box.local"), ("ann_s mac", "ann-s-mac"), ("_", "localhost")]
)
def test_a_host_name_becomes_a_name_the_api_takes(hostname: str, expected: str) -> None:
    assert machine.node_name(hostname) == expected
