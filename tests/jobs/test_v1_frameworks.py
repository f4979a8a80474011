"""Every v1 kind with the real framework it is for, on this machine's processors."""

from __future__ import annotations

import pytest

from tests.jobs import v1
from tests.jobs.v1 import a_job, a_program, eventually, output, pods
from tests.whole import EXAMPLES, Whole

PARAMETER_SERVER = """
import json, os
import tensorflow as tf
told = json.loads(os.environ["TF_CONFIG"])
assert told["environment"] == "cloud"
cluster, task = tf.train.ClusterSpec(told["cluster"]), told["task"]
if task["type"] == "ps":
    tf.distribute.Server(cluster, job_name="ps", task_index=task["index"]).join()
tf.config.experimental_connect_to_cluster(cluster, job_name="worker", task_index=0)
with tf.device("/job:ps/task:0"):
    kept = tf.Variable(40.0)
kept.assign_add(2.0)
print(f"{kept.numpy():.0f} is kept at {kept.device.split('/replica')[0]}", flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("TFJob", {"chief-0": "chief 0 of 2 replicas", "worker-0": "worker 0 of 2 replicas"}),
        ("XGBoostJob", {"master-0": " of 2: error 0.0", "worker-0": " of 2: error 0.0"}),
        ("PaddleJob", {"worker-0": "rank 0 of 2: the ranks add up to 1", "worker-1": "rank 1 of 2"}),
        ("JAXJob", {"worker-0": "process 0 of 2", "worker-1": "process 1: loss 0."}),
        ("MPIJob", {"launcher": "pi is about 3.141593"}),
        ("MXJob", {"scheduler-0": "3 members: server 0, worker 0, worker 1"}),
    ],
)
def test_a_job_of_each_kind_trains(shed: Whole, kind: str, words: dict[str, str]) -> None:
    name = kind.lower()
    folder = EXAMPLES / "12-v1-kinds" / name
    shed.kubectl("apply", "-k", str(folder))
    v1.finish(shed, kind, name)
    for place, expected in words.items():
        # The job is done when its leader is, and others may still be at their last words.
        pod = f"{name}-{place}"
        eventually(lambda: expected in output(shed, pod), f"{pod} says: {expected}")  # noqa: B023
    shed.kubectl("delete", "-k", str(folder))


def test_parameter_servers_serve_until_the_worker_is_done(shed: Whole, name: str) -> None:
    program = {"PS": a_program(PARAMETER_SERVER), "Worker": a_program(PARAMETER_SERVER)}
    shed.apply(a_job("TFJob", name, {"cleanPodPolicy": "Running"}, **program))
    job = v1.finish(shed, "TFJob", name)
    assert "42 is kept at /job:ps" in output(shed, f"{name}-worker-0")
    left = [f"{name}-worker-0"]
    eventually(lambda: [pod["metadata"]["name"] for pod in pods(shed, name)] == left, "servers are gone")
    assert [one["metadata"]["name"] for one in shed.list("services", f"{v1.JOB_NAME}={name}")] == left
    assert job["status"]["replicaStatuses"]["Worker"]["succeeded"] == 1
