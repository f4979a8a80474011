"""An elastic job loses a node for good: the others go on from the checkpoint, and the job completes."""

from __future__ import annotations

import re

import pytest

from tests.jobs.test_recovery import eventually, lines
from tests.whole import EXAMPLES, Whole
from trainshed.kube.objects import Object

SECONDS = 100.0


def start(own: Whole, steps: int, nodes: int) -> None:
    """The example with more steps, slow ones, and more nodes."""
    manifest = own.kubectl("kustomize", str(EXAMPLES / "03-checkpoints" / "elastic"))
    slow = manifest.replace('value: "20"', f'value: "{steps}"').replace('value: "0.5"', 'value: "0.3"')
    own.kubectl("apply", "-f", "-", stdin=slow.replace("maxNodes: 2", f"maxNodes: {nodes}"))
    eventually(lambda: f"step 3/{steps} world {nodes}" in lines(own, "elastic"), "all nodes train", SECONDS)


def lose_node_1(own: Whole) -> str:
    """For good, until this node takes pods again."""
    (machine,) = own.list("nodes")
    node: str = machine["metadata"]["name"]
    own.kubectl("cordon", node)
    own.kubectl(
        "delete", "pod", "-l", "batch.kubernetes.io/job-completion-index=1", "--force", "--wait=false"
    )
    return node


def statuses(own: Whole) -> list[Object]:
    return [status for pod in own.list("pods") for status in pod["status"]["containerStatuses"]]


@pytest.mark.timeout(300)
def test_those_that_are_left_train_together_and_take_back_who_returns(own: Whole) -> None:
    start(own, steps=2000, nodes=3)
    node = lose_node_1(own)
    eventually(lambda: "2000 world 2" in lines(own, "elastic"), "two nodes train", SECONDS)
    own.kubectl("uncordon", node)
    again = re.compile(r"rank 0 of 3 starts at step [1-9]")
    eventually(lambda: again.search(lines(own, "elastic")) is not None, "three nodes train", SECONDS)
    # torchrun itself has brought them together: where it cannot, its container starts again.
    assert {status["restartCount"] for status in statuses(own)} == {0}
    own.kubectl("delete", "trainjob", "elastic")


@pytest.mark.timeout(240)
def test_an_elastic_job_completes_with_fewer_nodes_after_a_loss(own: Whole) -> None:
    start(own, steps=30, nodes=2)
    lose_node_1(own)
    own.finish("elastic", seconds=SECONDS)
    said = lines(own, "elastic")
    assert "world 1" in said
    assert "rank 0 of 1 done at step 30" in said
    assert "rank 0 of 1 starts at step 0" not in said
    types = [condition["type"] for condition in own.get("trainjob", "elastic")["status"]["conditions"]]
    assert types == ["Complete"]
