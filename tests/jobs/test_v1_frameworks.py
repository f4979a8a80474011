"""What the examples of the v1 kinds do not show of the real frameworks."""

from __future__ import annotations

from tests.jobs import v1
from tests.jobs.v1 import a_job, a_program, eventually, output, pods
from tests.whole import Whole

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


def test_parameter_servers_serve_until_the_worker_is_done(shed: Whole, name: str) -> None:
    program = {"PS": a_program(PARAMETER_SERVER), "Worker": a_program(PARAMETER_SERVER)}
    shed.apply(a_job("TFJob", name, {"cleanPodPolicy": "Running"}, **program))
    job = v1.finish(shed, "TFJob", name)
    assert "42 is kept at /job:ps" in output(shed, f"{name}-worker-0")
    left = [f"{name}-worker-0"]
    eventually(lambda: [pod["metadata"]["name"] for pod in pods(shed, name)] == left, "servers are gone")
    assert [one["metadata"]["name"] for one in shed.list("services", f"{v1.JOB_NAME}={name}")] == left
    assert job["status"]["replicaStatuses"]["Worker"]["succeeded"] == 1
