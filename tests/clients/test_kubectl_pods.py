"""kubectl logs, exec and the like on a pod no node runs, and kubectl on nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.console import Console

STATUS = """
    {"status": {
        "capacity": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "8", "pods": "110"},
        "allocatable": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "8", "pods": "110"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok",
            "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "nodeInfo": {"machineID": "m", "systemUUID": "s", "bootID": "b", "kernelVersion": "6.1",
            "osImage": "Amazon Linux 2023.9", "containerRuntimeVersion": "containerd://1.7",
            "kubeletVersion": "v1.32.4", "kubeProxyVersion": "", "operatingSystem": "linux",
            "architecture": "amd64"}}}
"""


@pytest.fixture
def pod(console: Console) -> Console:
    """A pod with two containers that nobody schedules."""
    console.write(
        pod_yaml="""
        apiVersion: v1
        kind: Pod
        metadata: {name: web, labels: {app: web}}
        spec:
          containers: [{name: main, image: nginx}, {name: side, image: busybox}]
          nodeSelector: {place: nowhere}
        """
    )
    console.says("kubectl create -f pod.yaml")
    return console


@pytest.fixture
def node(console: Console) -> Iterator[Console]:
    """A node with GPUs that nobody serves."""
    console.write(
        node_yaml="""
        apiVersion: v1
        kind: Node
        metadata:
          name: UNIQUE
          labels:
            node.kubernetes.io/instance-type: g6e.48xlarge
            karpenter.sh/capacity-type: spot
            node-role.kubernetes.io/gpu: ""
            test: UNIQUE
        """,
        status_json=STATUS,
    )
    console.says("kubectl create -f node.yaml")
    console.says("kubectl patch node UNIQUE --subresource=status --type=merge --patch-file status.json")
    yield console
    console.says("kubectl delete --ignore-not-found node UNIQUE")


class TestPodsThatDoNotRun:
    def test_have_empty_logs(self, pod: Console) -> None:
        pod.plays(r"""
            $ kubectl logs web
            Defaulted container "main" out of: main, side
            $ kubectl logs web -c side --tail=5
            $ kubectl logs web --all-containers
            $ kubectl logs -l app=web
            Defaulted container "main" out of: main, side
        """)

    def test_wrong_questions_for_logs(self, pod: Console) -> None:
        pod.plays(r"""
            ! kubectl logs web -c nosuch
            error: container nosuch is not valid for pod web
            ! kubectl logs nosuch
            error: error from server (NotFound): pods "nosuch" not found in namespace "NS"
            ! kubectl logs web --tail=-5
            error: --tail must be greater than or equal to -1
        """)

    def test_take_no_streams(self, pod: Console) -> None:
        pod.plays(r"""
            ! kubectl exec web -c main -- true
            Error from server (BadRequest): pod web does not have a host assigned
            ! kubectl cp web:/etc/hosts hosts -c main
            Error from server (BadRequest): pod web does not have a host assigned
            ! kubectl exec nosuch -- true
            Error from server (NotFound): pods "nosuch" not found
            ! kubectl port-forward web 12345:80
            error: unable to forward port because pod is not running. Current status=Pending
        """)

    def test_are_refused_with_a_missing_account_or_priority(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl run p --image=nginx --overrides='{"spec":{"priorityClassName":"nosuch"}}'
            Error from server (Forbidden): pods "p" is forbidden: no PriorityClass with name nosuch was found
            ! kubectl run p --image=nginx --overrides='{"spec":{"serviceAccountName":"nosuch"}}'
            Error from server (Forbidden): pods "p" is forbidden: error looking up service account \
            NS/nosuch: \
            serviceaccount "nosuch" not found
        """)


class TestNodes:
    def test_in_tables(self, node: Console) -> None:
        node.plays(r"""
            $ kubectl get node UNIQUE
            NAME     STATUS  ROLES  AGE  VERSION
            UNIQUE   Ready   gpu    AGE  v1.32.4
            $ kubectl get node UNIQUE -o wide
            NAME    STATUS  ROLES  AGE  VERSION  INTERNAL-IP  EXTERNAL-IP  OS-IMAGE             \
            KERNEL-VERSION \
            CONTAINER-RUNTIME
            UNIQUE  Ready   gpu    AGE  v1.32.4  IP           <none>       Amazon Linux 2023.9  6.1 \
            containerd://1.7
        """)

    def test_in_columns_with_escaped_label_keys(self, node: Console) -> None:
        node.plays(r"""
            $ kubectl get nodes -l test=UNIQUE -o custom-columns="NAME:.metadata.name, \
            INSTANCE:.metadata.labels['node\.kubernetes\.io/instance-type'], \
            ARCH:.status.nodeInfo.architecture, \
            OS:.status.nodeInfo.osImage, \
            GPU:.status.capacity['nvidia\.com/gpu'], \
            CAPACITY:.metadata.labels['karpenter\.sh/capacity-type']"
            NAME     INSTANCE       ARCH    OS                    GPU   CAPACITY
            UNIQUE   g6e.48xlarge   amd64   Amazon Linux 2023.9   8     spot
        """)

    def test_cordon_taint_and_drain(self, node: Console) -> None:
        node.plays(r"""
            $ kubectl cordon UNIQUE
            node/UNIQUE cordoned
            $ kubectl get node UNIQUE --no-headers
            UNIQUE   Ready,SchedulingDisabled   gpu   AGE   v1.32.4
            $ kubectl uncordon UNIQUE
            node/UNIQUE uncordoned
            $ kubectl taint node UNIQUE a=b:PreferNoSchedule
            node/UNIQUE tainted
            ! kubectl taint node UNIQUE a=c:PreferNoSchedule
            error: node UNIQUE already has a taint(s) with same effect(s) and --overwrite is false
            $ kubectl taint node UNIQUE a:PreferNoSchedule-
            node/UNIQUE untainted
            $ kubectl drain UNIQUE --ignore-daemonsets
            node/UNIQUE cordoned
            node/UNIQUE drained
            $ kubectl delete node UNIQUE
            node "UNIQUE" deleted
        """)

    def test_drain_evicts_what_is_there(self, node: Console) -> None:
        node.says("""kubectl run p --image=nginx --overrides='{"spec":{"nodeName":"UNIQUE"}}'""")
        node.says("""kubectl patch pod p --subresource=status -p '{"status":{"phase":"Succeeded"}}'""")
        node.plays(r"""
            $ kubectl drain UNIQUE
            node/UNIQUE cordoned
            evicting pod NS/p
            pod/p evicted
            node/UNIQUE drained
        """)

    def test_have_no_metrics(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl top node
            error: Metrics API not available
            ! kubectl top pod
            error: Metrics API not available
        """)
