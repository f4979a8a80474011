"""What a container finds around it: files, variables, names, devices, peers."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import sys
from pathlib import Path

from tests import waits
from tests.agent import awaiting
from tests.agent.nodes import Place
from tests.agent.pods import a_container, a_pod, is_over, is_running, phase, status, waiting
from tests.builders import a_config_map, a_secret
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.kube.objects import JSON, Object, text
from trainshed.runner.volumes import inmemory

BY_NAME = """
import ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
trusted = ssl.create_default_context(cafile=folder + "ca.crt")
namespace = open(folder + "namespace").read()
url = "https://kubernetes.default.svc/api/v1/namespaces/%s/pods" % namespace
request = urllib.request.Request(url)
request.add_header("Authorization", "Bearer " + open(folder + "token").read())
try:
    print(urllib.request.urlopen(request, context=trusted, timeout=20).status)
except urllib.error.HTTPError as refused:
    print(refused.code)
"""


async def said(client: Client, pod: Object) -> list[str]:
    """The lines of a pod that ran to its end."""
    await client.create(pod)
    name = pod["metadata"]["name"]
    over = await waits.until(client, "pods", name, is_over)
    text = b"".join([piece async for piece in client.logs(name, options=LogOptions())]).decode()
    assert phase(over) == "Succeeded", text
    return text.splitlines()


def mounted(script: str, *volumes: Object, **mount: JSON) -> Object:
    """A pod whose container sees each volume at /<its name>."""
    mounts = [{"name": one["name"], "mountPath": f"/{one['name']}", **mount} for one in volumes]
    return a_pod("p", a_container(script, volumeMounts=mounts), volumes=list(volumes))


async def test_python_is_the_one_of_the_environment(client: Client) -> None:
    (found,) = await said(client, a_pod("p", "python -c 'import sys; print(sys.prefix)'"))
    assert found == sys.prefix


async def test_variables_come_from_everywhere(client: Client) -> None:
    await client.create(a_config_map("settings", {"MODE": "fast"}))
    await client.create(a_secret("keys", {"token": "s3cret"}))
    container = a_container(
        'echo "$(WHO) $A_MODE $TOKEN $NAME $CPUS $HOSTNAME"; test "$IP" = "$(hostname -i)"',
        env=[
            {"name": "WHO", "value": "ann"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
        envFrom=[{"prefix": "A_", "configMapRef": {"name": "settings"}}],
        resources={"limits": {"cpu": "1"}},
    )
    (found,) = await said(client, a_pod("p", container))
    assert found == "ann fast s3cret p 1 p"


async def test_files_of_configmaps_and_secrets_have_their_modes(client: Client) -> None:
    await client.create(a_config_map("code", {"train.sh": "echo trained", "other": "x"}))
    await client.create(a_secret("keys", {"id": "key"}))
    items = [{"key": "train.sh", "path": "bin/train", "mode": 0o755}]
    pod = mounted(
        "/code/bin/train; ls /code; stat -Lc %a /keys/id; cat /keys/id; touch /code/x 2>/dev/null || echo ro",
        {"name": "code", "configMap": {"name": "code", "items": items}},
        {"name": "keys", "secret": {"secretName": "keys", "defaultMode": 0o400}},
    )
    assert await said(client, pod) == ["trained", "bin", "400", "keyro"]


async def test_a_changed_configmap_reaches_a_running_container(client: Client) -> None:
    await client.create(a_config_map("live", {"a": "before"}))
    script = "echo up; while grep -q before /live/a; do sleep 0.05; done; cat /live/a"
    pod = mounted(script, {"name": "live", "configMap": {"name": "live"}})
    await client.create(pod)
    await waits.until(client, "pods", "p", is_running)
    await client.patch("configmaps", "live", {"data": {"a": "after"}})
    await waits.until(client, "pods", "p", is_over)


async def test_a_pod_reads_about_itself_from_files(client: Client) -> None:
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    pod = mounted("cat /about/labels", {"name": "about", "downwardAPI": {"items": items}})
    pod["metadata"]["labels"] = {"app": "x"}
    assert await said(client, pod) == ['app="x"']


async def test_files_about_the_pod_follow_its_labels(client: Client) -> None:
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    script = "until grep -q second /about/labels; do sleep 0.05; done"
    pod = mounted(script, {"name": "about", "downwardAPI": {"items": items}})
    pod["metadata"]["labels"] = {"turn": "first"}
    await client.create(pod)
    await waits.until(client, "pods", "p", is_running)
    await client.patch("pods", "p", {"metadata": {"labels": {"turn": "second"}}})
    assert phase(await waits.until(client, "pods", "p", is_over)) == "Succeeded"


async def test_a_projected_token_is_accepted_by_the_server(client: Client) -> None:
    sources = [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}]
    pod = mounted(
        "cut -d. -f1-2 /access/token | wc -c", {"name": "access", "projected": {"sources": sources}}
    )
    (length,) = await said(client, pod)
    assert int(length) > 100


async def test_a_claim_keeps_its_data_for_the_next_pod(client: Client) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    await client.create(claim)
    volume: Object = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    await said(client, mounted("echo kept > /data/x", volume))
    second = mounted("cat /data/x; touch /data/y 2>/dev/null || echo ro", volume, readOnly=True)
    second["metadata"]["name"] = "second"
    assert await said(client, second) == ["kept", "ro"]


async def test_memory_volumes_have_their_size_and_are_shared(client: Client) -> None:
    memory = {"medium": "Memory", "sizeLimit": "128Mi"}
    mounts = [{"name": "dshm", "mountPath": "/dev/shm"}]
    pod = a_pod(
        "p",
        a_container("df -k /dev/shm | tail -1 | awk '{print $2}'; cat /dev/shm/x", volumeMounts=mounts),
        initContainers=[a_container("echo shared > /dev/shm/x", "early", volumeMounts=mounts)],
        volumes=[{"name": "dshm", "emptyDir": memory}],
    )
    assert await said(client, pod) == ["131072", "shared"]


async def test_memory_that_several_containers_share_has_an_end(client: Client) -> None:
    volume = {"name": "cache", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}
    whole, part = {"name": "cache", "mountPath": "/cache"}, {"name": "cache", "mountPath": "/part"}
    fill = "head -c 6M /dev/zero > /cache/first; echo from > /part/early; ln -s / /cache/out"
    pod = a_pod(
        "p",
        a_container(
            "cat /cache/sub/early; head -c 6M /dev/zero > /cache/second && echo too much;"
            "stat -c %s /cache/first; mountpoint -q /cache && df -k /cache | tail -1 | awk '{print $2}'",
            volumeMounts=[whole],
        ),
        initContainers=[a_container(fill, "early", volumeMounts=[whole, {**part, "subPath": "sub"}])],
        volumes=[volume],
    )
    found = await said(client, pod)
    assert [line for line in found if "No space left" not in line] == ["from", str(6 << 20), "8192"]


async def test_memory_outlives_the_restart_of_its_container_and_no_link_leads_out(client: Client) -> None:
    volume = {"name": "cache", "emptyDir": {"medium": "Memory"}}
    again = "if [ -e /cache/out ]; then echo again; exit 0; fi; ln -s / /cache/out; exit 1"
    mounts = [{"name": "cache", "mountPath": "/cache"}]
    pod = a_pod("p", a_container(again, volumeMounts=mounts), policy="OnFailure", volumes=[volume])
    assert await said(client, pod) == ["again"]
    out = a_container(
        "ls /part", "late", volumeMounts=[{**mounts[0], "mountPath": "/part", "subPath": "out"}]
    )
    first = a_container("ln -s / /cache/out", "first", volumeMounts=mounts)
    escape = a_pod("q", out, initContainers=[first], volumes=[volume])
    await client.create(escape)
    stuck = await waits.until(client, "pods", "q", lambda pod: "leads out" in str(waiting(pod, "late")))
    assert waiting(stuck, "late")["reason"] == "CreateContainerError"


async def test_a_part_of_a_volume_can_be_mounted(client: Client) -> None:
    pod = mounted("echo x > /v/file; ls /v", {"name": "v", "emptyDir": {}}, subPathExpr="$(POD)/sub")
    variable = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    pod["spec"]["containers"][0]["env"] = [variable]
    assert await said(client, pod) == ["file"]


async def test_two_pods_meet_by_name_on_the_same_port(client: Client) -> None:
    serve = (
        "import socket\n"
        "s = socket.create_server(('', 29500))\n"
        "c, _ = s.accept()\n"
        "print(c.recv(100).decode())\n"
    )
    call = (
        "import socket, time\n"
        "for _ in range(300):\n"
        "    try:\n"
        "        s = socket.create_connection(('job-0.job', 29500), 5)\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.1)\n"
        "s.sendall(socket.gethostname().encode())\n"
    )

    def rank(number: int, program: str) -> Object:
        container: Object = {"name": "main", "image": "x", "command": ["python", "-c", program]}
        return a_pod(f"rank{number}", container, hostname=f"job-{number}", subdomain="job")

    await client.create(rank(1, call))
    assert await said(client, rank(0, serve)) == ["job-1"]


async def test_containers_may_write_to_their_own_root(client: Client) -> None:
    script = "mkdir -p /workspace/out && echo x > /workspace/out/f && cat /workspace/out/f"
    assert await said(client, a_pod("p", script)) == ["x"]


async def test_a_pod_has_its_own_host_name(client: Client) -> None:
    assert await said(client, a_pod("p", "hostname", hostname="job-node-0-0")) == ["job-node-0-0"]


async def test_an_mpi_launcher_runs_commands_in_its_worker(client: Client) -> None:
    await client.create(a_secret("keys", {"ssh-privatekey": "only this job has it"}))
    items = [{"key": "ssh-privatekey", "path": "id_rsa", "mode": 0o640}]
    more: Object = {
        "subdomain": "job",
        "volumes": [{"name": "ssh", "secret": {"secretName": "keys", "items": items}}],
    }
    mounts = [{"name": "ssh", "mountPath": "/root/.ssh"}]
    worker: Object = {
        "name": "main",
        "image": "x",
        "command": ["/usr/sbin/sshd", "-De"],
        "volumeMounts": mounts,
        "readinessProbe": {"tcpSocket": {"port": 2222}, "periodSeconds": 1},
    }
    await client.create(a_pod("worker", worker, hostname="job-node-0", **more))
    await waits.until(client, "pods", "worker", lambda pod: is_running(pod) and status(pod)["ready"])
    variable = {"name": "OMPI_MCA_orte_default_hostfile", "value": "/etc/mpi/hostfile"}
    script = "$PRTE_MCA_plm_ssh_agent -o ConnectionAttempts=10 job-node-0.job hostname"
    launcher = a_container(script, env=[variable], volumeMounts=mounts)
    assert await said(client, a_pod("launcher", launcher, hostname="job-launcher", **more)) == ["job-node-0"]


async def test_the_server_is_found_by_name_and_grants_nothing_by_itself(client: Client) -> None:
    container = {"name": "main", "image": "example.com/image:1", "command": ["python", "-c", BY_NAME]}
    assert await said(client, a_pod("p", container)) == ["403"]


async def test_a_worker_waits_until_its_master_is_ready(client: Client) -> None:
    await awaiting.check(client)


async def test_a_pod_that_is_not_ready_is_found_by_its_own_name_but_by_no_service(client: Client) -> None:
    script = "getent hosts self && ! getent hosts self.$(cat /ns).svc"
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    account = [{"name": "ns", "mountPath": "/ns", "subPath": "name"}]
    field = {"fieldRef": {"fieldPath": "metadata.namespace"}, "path": "name"}
    volume = {"name": "ns", "downwardAPI": {"items": [field]}}
    pod = a_pod("self", a_container(script, readinessProbe=probe, volumeMounts=account), volumes=[volume])
    pod["metadata"]["labels"] = {"app": "self"}
    await client.create(awaiting.a_service("self"))
    (found,) = await said(client, pod)
    assert found.split()[1:] == ["self"]


KEYS: Object = {"name": "keys", "secret": {"secretName": "keys"}}
MOUNTED: JSON = [{"name": "keys", "mountPath": "/keys"}]


async def test_files_that_somebody_took_away_are_there_for_the_next_run(
    place: Place, client: Client, tmp_path: Path
) -> None:
    await client.create(a_secret("keys", {"id": "key"}))
    os.chmod(tmp_path, 0o755)
    signs = {"name": "signs", "hostPath": {"path": str(tmp_path)}}
    mounts: JSON = [{"name": "keys", "mountPath": "/keys"}, {"name": "signs", "mountPath": "/signs"}]
    script = "test -e /signs/again && exec cat /keys/id; until test -e /signs/go; do sleep 0.02; done; exit 1"
    container = a_container(script, volumeMounts=mounts)
    await client.create(a_pod("p", container, policy="OnFailure", volumes=[KEYS, signs]))
    found = await waits.until(client, "pods", "p", is_running)
    shutil.rmtree(inmemory.folder(place.server.data / "agent" / "pods" / text(found, "metadata", "uid")))
    (tmp_path / "again").touch()
    (tmp_path / "go").touch()
    over = await waits.until(client, "pods", "p", lambda pod: is_over(pod) or waiting(pod).get("message"))
    assert phase(over) == "Succeeded", waiting(over)


async def test_nothing_secret_stays_of_pods_that_go_while_it_changes(place: Place, client: Client) -> None:
    await client.create(a_secret("keys", {"id": "0"}))
    names = [f"p{number}" for number in range(4)]
    for name in names:
        script = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
        await client.create(a_pod(name, a_container(script, volumeMounts=MOUNTED), volumes=[KEYS]))
    uids = {text(await waits.until(client, "pods", name, is_running), "metadata", "uid") for name in names}

    async def change() -> None:
        for number in itertools.count():
            await client.patch("secrets", "keys", {"stringData": {"id": str(number)}})

    changing = asyncio.create_task(change())
    await asyncio.gather(*(client.delete("pods", name) for name in names))
    await asyncio.gather(*(waits.until_gone(client, "pods", name) for name in names))
    changing.cancel()
    await asyncio.gather(changing, return_exceptions=True)
    await client.patch("secrets", "keys", {"stringData": {"id": "last"}})
    await said(client, a_pod("after", a_container("cat /keys/id", volumeMounts=MOUNTED), volumes=[KEYS]))
    assert not uids & inmemory.left(place.server.data / "agent" / "pods")


async def test_what_is_secret_lies_in_memory(client: Client) -> None:
    await client.create(a_secret("keys", {"id": "key"}))
    volumes: dict[str, Object] = {
        "keys": {"secret": {"secretName": "keys"}},
        "access": {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
        "about": {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    }
    pod = a_pod(
        "p",
        a_container(
            "stat -f -c %T /at/*/",
            volumeMounts=[{"name": name, "mountPath": f"/at/{name}"} for name in volumes],
        ),
        volumes=[{"name": name, **volume} for name, volume in volumes.items()],
    )
    assert await said(client, pod) == ["tmpfs"] * 3
