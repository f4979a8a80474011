"""The walks of the manuals with the real kubectl: apply, get, logs, exec, delete."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

from tests import whole
from tests.jobs.builders import a_shell
from tests.whole import EXAMPLES, Whole

SEED = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}
spec:
  podTemplateOverrides:
    - targetJobs:
        - name: node
      spec:
        nodeSelector:
          node.kubernetes.io/instance-type: g6e.48xlarge
          topology.kubernetes.io/zone: ap-northeast-2a
        containers:
          - name: node
            volumeMounts:
              - mountPath: /dev/shm
                name: dshm
              - mountPath: /app
                name: code
        volumes:
          - name: dshm
            emptyDir:
              medium: Memory
              sizeLimit: "64Mi"
          - name: code
            configMap:
              name: walk-code
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 2
    numProcPerNode: auto
    image: public.ecr.aws/deep-learning-containers/pytorch-training:2.8.0-gpu-py312-cu129-ubuntu22.04-ec2-v1.0
    command:
      - /bin/bash
      - -c
      - |
        mkdir -p /workspace/code && cp /app/train.py /workspace/code && cd /workspace/code
        echo "=== Launching Distributed Training ==="
        export MASTER_ADDR=${{PET_MASTER_ADDR}}
        export MASTER_PORT=${{PET_MASTER_PORT:-29500}}
        echo "Master Address: ${{MASTER_ADDR}}"
        echo "Master Port: ${{MASTER_PORT}}"
        torchrun \\
          --nproc_per_node=1 \\
          --rdzv_id=elastic-job \\
          --rdzv_backend=c10d \\
          --rdzv_endpoint=${{MASTER_ADDR}}:${{MASTER_PORT}} \\
          train.py --epochs=2
    resourcesPerNode:
      limits:
        nvidia.com/gpu: "8"
      requests:
        nvidia.com/gpu: "8"
"""

NODE = """
[[nodes]]
name = "{name}"
cpu = "8"
memory = "8Gi"
gpus = {gpus}
[nodes.labels]
"node.kubernetes.io/instance-type" = "g6e.48xlarge"
"topology.kubernetes.io/zone" = "ap-northeast-2a"
"""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A Trainshed with simulated GPU nodes, as large as the manifests of the seeds want them."""
    folder = tmp_path_factory.mktemp("cloud")
    (folder / "config.toml").write_text(
        "".join(NODE.format(name=f"gpu-{letter}", gpus=8) for letter in "abcd")
    )
    with whole.running(folder, "--config", str(folder / "config.toml")) as found:
        train = EXAMPLES / "02-pytorch-ddp" / "train.py"
        found.kubectl("create", "configmap", "walk-code", f"--from-file={train}")
        yield found


def test_two_jobs_with_the_same_ports_run_side_by_side(cloud: Whole) -> None:
    for name in ("t5-large", "t5-other"):
        cloud.kubectl("apply", "-f", "-", stdin=SEED.format(name=name))
    for name in ("t5-large", "t5-other"):
        cloud.finish(name)
        pods = cloud.kubectl(
            "get", "pods", "-l", f"jobset.sigs.k8s.io/jobset-name={name}", "-o", "name"
        ).split()
        assert [
            bool(re.fullmatch(rf"pod/{name}-node-0-[01]-[a-z0-9]{{5}}", pod)) for pod in sorted(pods)
        ] == [True] * 2
        first = cloud.kubectl("logs", sorted(pods)[0])
        assert f"Master Address: {name}-node-0-0.{name}" in first
        assert re.search(r"rank [01] of 2", first)
    assert "Complete" in cloud.kubectl("get", "trainjob", "t5-large")
    cloud.kubectl("delete", "trainjob", "t5-large", "t5-other")
    cloud.kubectl("wait", "--for=delete", "pods", "--all", "--timeout=30s")


def test_nodes_look_as_the_manual_shows_them(cloud: Whole) -> None:
    columns = (
        r"NAME:.metadata.name,INSTANCE:.metadata.labels['node\.kubernetes\.io/instance-type'],"
        r"GPU:.status.capacity['nvidia\.com/gpu']"
    )
    rows = [
        row.split() for row in cloud.kubectl("get", "nodes", "-o", f"custom-columns={columns}").splitlines()
    ]
    assert ["gpu-a", "g6e.48xlarge", "8"] in rows


def test_logs_are_followed_to_the_end(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "for i in 1 2 3; do echo line $i; sleep 1; done"))
    shed.await_pods(name)
    said = shed.kubectl("logs", "-f", "-l", f"jobset.sigs.k8s.io/jobset-name={name}")
    assert said.split("\n")[:3] == ["line 1", "line 2", "line 3"]
    shed.finish(name)


def test_exec_runs_inside_the_pod(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "echo here > /tmp/mark; sleep 60", nodes=2))
    pod = f"job/{name}-node-0"
    shed.await_pods(name)
    assert shed.kubectl("exec", pod, "--", "cat", "/tmp/mark").strip() == "here"
    # kubectl takes the pod that was ready first, which may be either.
    assert shed.kubectl("exec", pod, "--", "hostname").strip() in (f"{name}-node-0-0", f"{name}-node-0-1")
    assert shed.run("kubectl", "exec", pod, "--", "sh", "-c", "exit 7").code == 7
    unread = "x" * 3_000_000
    assert shed.run("kubectl", "exec", "-i", pod, "--", "sh", "-c", "exit 7", stdin=unread).code == 7
    assert shed.kubectl("exec", "-i", pod, "--", "head", "-c", "3", stdin=unread) == "xxx"
    shed.kubectl("delete", "trainjob", name)


def test_a_port_is_forwarded_into_the_pod(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "cd $(mktemp -d) && echo hello > index.html && exec python -m http.server 8000"))
    shed.await_pods(name)
    listening = "until (exec 3<>/dev/tcp/127.0.0.1/8000); do sleep 0.1; done"
    shed.kubectl("exec", f"job/{name}-node-0", "--", "timeout", "20", "bash", "-c", listening)
    forward = subprocess.Popen(
        ["kubectl", "port-forward", f"job/{name}-node-0", ":8000"],
        env=shed.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert forward.stdout is not None
        port = re.search(r"127\.0\.0\.1:(\d+)", forward.stdout.readline())
        assert port is not None
        page = shed.run(
            "python",
            "-c",
            f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port[1]}').read())",
        )
        assert "hello" in page.out, page.err
    finally:
        forward.terminate()
        forward.communicate(timeout=10)
    shed.kubectl("delete", "trainjob", name)
