"""A container as a client of the API: its address, its name, its token, its rights."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests import waits
from tests.agent.nodes import Place, wait_for_log
from tests.agent.pods import a_container, a_pod, is_over, is_running, phase
from tests.agent.test_pods_surroundings import said
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.kube.objects import Object

OFFICIAL = """
from kubernetes import client, config
config.load_incluster_config()
namespace = open("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read()
print(sorted(pod.metadata.name for pod in client.CoreV1Api().list_namespaced_pod(namespace).items))
"""
KUBEFLOW = """
from kubeflow.trainer import TrainerClient
print([job.name for job in TrainerClient().list_jobs()])
"""
ASK_FOR_EVER = """
import sys, time
from kubernetes import client, config
config.load_incluster_config()
good = 0
while True:
    try:
        client.CoreV1Api().list_namespaced_pod(sys.argv[1], _request_timeout=5)
        good += 1
        print("good", good, flush=True)
    except Exception as trouble:
        print("bad", type(trouble).__name__, flush=True)
    time.sleep(0.1)
"""


def python(script: str, *words: str) -> Object:
    return {"name": "main", "image": "example.com/image:1", "command": ["python", "-c", script, *words]}


async def allow_all(client: Client, account: str = "default") -> None:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": client.namespace}
    await client.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "all"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
            "subjects": [subject],
        }
    )


async def test_the_official_client_finds_its_cluster(client: Client) -> None:
    await allow_all(client)
    assert await said(client, a_pod("p", python(OFFICIAL))) == ["['p']"]


async def test_the_kubeflow_sdk_works_in_a_pod(client: Client) -> None:
    await allow_all(client)
    (*_, last) = await said(client, a_pod("p", python(KUBEFLOW)))
    assert last == "[]"


async def test_a_pod_on_the_hosts_network_has_the_hosts_address(client: Client) -> None:
    await allow_all(client)
    assert await said(client, a_pod("p", python(OFFICIAL), hostNetwork=True)) == ["['p']"]


async def test_who_wants_no_token_gets_none(client: Client) -> None:
    script = "ls /var/run/secrets 2>/dev/null; echo $KUBERNETES_SERVICE_HOST"
    assert await said(client, a_pod("p", script, automountServiceAccountToken=False)) == ["10.244.0.1"]


async def test_an_account_may_decide_for_its_pods(client: Client) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "quiet"}}
    await client.create({**account, "automountServiceAccountToken": False})
    look = "ls /var/run/secrets/kubernetes.io/serviceaccount 2>/dev/null | tr '\\n' ' '; echo"
    assert await said(client, a_pod("p", look, serviceAccountName="quiet")) == [""]
    loud = a_pod("q", look, serviceAccountName="quiet", automountServiceAccountToken=True)
    assert await said(client, loud) == ["ca.crt namespace token "]


async def test_two_tokens_at_the_same_path_are_told_apart(client: Client) -> None:
    own = {"serviceAccountToken": {"path": "token", "audience": "vault"}}
    container = a_container(
        "cmp -s /own/token /var/run/secrets/kubernetes.io/serviceaccount/token || echo differ",
        volumeMounts=[{"name": "own", "mountPath": "/own"}],
    )
    volume = {"name": "own", "projected": {"sources": [own]}}
    assert await said(client, a_pod("p", container, volumes=[volume])) == ["differ"]


async def test_a_pods_token_ends_with_the_pod(place: Place, client: Client) -> None:
    await client.create(a_pod("p", "cat /var/run/secrets/kubernetes.io/serviceaccount/token; echo; sleep 60"))
    await waits.until(client, "pods", "p", is_running)
    wait_for_log(place, "eyJ")
    token = b"".join([piece async for piece in client.logs("p", options=LogOptions())]).decode().strip()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    user = (await client.create(review))["status"]["user"]
    assert user["username"] == f"system:serviceaccount:{client.namespace}:default"
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["p"]
    await client.delete("pods", "p")
    await waits.until_gone(client, "pods", "p")
    assert "authenticated" not in (await client.create(review))["status"]


def _doors(place: Place) -> list[int]:
    """The processes of this node's holder that carry pods' connections."""
    holder = place.server.data / "agent" / "sandbox"
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_text()
                if str(holder) in words and (entry / "comm").read_text() == "trainshed-door\n":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def test_the_way_to_the_server_outlives_agent_server_and_itself(place: Place, client: Client) -> None:
    await allow_all(client)
    await client.create(a_pod("p", python(ASK_FOR_EVER, client.namespace)))
    await waits.until(client, "pods", "p", is_running)

    async def answers() -> int:
        text = b"".join([piece async for piece in client.logs("p", options=LogOptions())]).decode()
        found = [line for line in text.splitlines() if line.startswith("good")]
        return len(found)

    async def goes_on(before: int) -> int:
        async def more() -> int:
            now = await answers()
            assert now > before + 1
            return now

        return await waits.eventually(more)

    count = await goes_on(0)
    place.agent.kill()
    place.agent.start()
    count = await goes_on(count)
    (door,) = _doors(place)
    os.kill(door, signal.SIGKILL)
    count = await goes_on(count)
    place.server.kill()
    place.server.start()
    await goes_on(count)


async def test_names_of_other_namespaces_resolve(place: Place, client: Client) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "job"},
        "spec": {"clusterIP": "None", "selector": {"app": "job"}, "ports": [{"port": 80}]},
    }
    await client.create(service)
    serving = a_pod("p", "sleep 60", hostname="job-node-0-0", subdomain="job")
    serving["metadata"]["labels"] = {"app": "job"}
    await client.create(serving)
    first = await waits.until(client, "pods", "p", is_running)
    names = " ".join(
        f"{name}.{client.namespace}{end}"
        for name in ("job-node-0-0.job", "job")
        for end in (".svc.cluster.local", ".svc", "")
    )
    look = f"for name in {names}; do until getent hosts $name; do sleep 0.05; done; done"
    async with place.cluster.client("default", manager="test") as other:
        await other.create(a_pod("elsewhere", f"{look}; getent hosts job-node-0-0.job || echo unknown"))
        try:
            over = await waits.until(other, "pods", "elsewhere", is_over)
            text = b"".join([piece async for piece in other.logs("elsewhere", options=LogOptions())]).decode()
        finally:
            await other.delete("pods", "elsewhere")
    assert phase(over) == "Succeeded", text
    *found, last = text.splitlines()
    assert {line.split()[0] for line in found} == {first["status"]["podIP"]}
    assert (len(found), last) == (6, "unknown")
