"""An elastic job loses a node for good: the others go on from the checkpoint, and the job completes."""

from __future__ import annotations

import pytest

from tests.jobs.test_recovery import eventually, lines
from tests.whole import EXAMPLES, Whole

SECONDS = 100.0


@pytest.mark.timeout(240)
def test_an_elastic_job_completes_with_fewer_nodes_after_a_loss(own: Whole) -> None:
    manifest = own.kubectl("kustomize", str(EXAMPLES / "03-checkpoints" / "elastic"))
    slow = manifest.replace('value: "20"', 'value: "30"').replace(
        "- name: STEPS", '- name: PAUSE\n      value: "0.3"\n    - name: STEPS'
    )
    own.kubectl("apply", "-f", "-", stdin=slow)
    eventually(lambda: "step 3/30 world 2" in lines(own, "elastic"), "two nodes train", SECONDS)
    (machine,) = own.list("nodes")
    own.kubectl("cordon", machine["metadata"]["name"])
    own.kubectl(
        "delete", "pod", "-l", "batch.kubernetes.io/job-completion-index=1", "--force", "--wait=false"
    )
    own.finish("elastic", seconds=SECONDS)
    said = lines(own, "elastic")
    assert "world 1" in said
    assert "rank 0 of 1 done at step 30" in said
    assert "rank 0 of 1 starts at step 0" not in said
    types = [condition["type"] for condition in own.get("trainjob", "elastic")["status"]["conditions"]]
    assert types == ["Complete"]
