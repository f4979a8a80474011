"""Pods as processes: started, watched, restarted, ended, and told about as on a cluster."""

from __future__ import annotations

import pytest

from tests import waits
from tests.agent.pods import a_container, a_pod, end, is_over, is_running, phase, status, waiting
from tests.builders import a_config_map
from tests.conftest import Kubectl
from trainshed.client.client import Client
from trainshed.client.requests import LogOptions
from trainshed.kube import conditions
from trainshed.kube.objects import Object, dig


async def done(client: Client, pod: Object) -> Object:
    await client.create(pod)
    return await waits.until(client, "pods", pod["metadata"]["name"], is_over)


async def log_of(client: Client, pod: str, container: str = "main", *, previous: bool = False) -> str:
    options = LogOptions(container=container, previous=previous)
    return b"".join([piece async for piece in client.logs(pod, options=options)]).decode()


async def test_a_pod_runs_and_succeeds(client: Client) -> None:
    pod = await done(client, a_pod("p", "echo hello; echo there >&2"))
    assert phase(pod) == "Succeeded"
    assert end(pod)["reason"] == "Completed"
    assert end(pod)["exitCode"] == 0
    assert sorted((await log_of(client, "p")).split()) == ["hello", "there"]


async def test_a_failure_tells_its_code_and_its_last_words(client: Client) -> None:
    pod = await done(client, a_pod("p", "echo almost; echo 'ValueError: no data' >&2; exit 3"))
    assert phase(pod) == "Failed"
    assert (end(pod)["exitCode"], end(pod)["reason"]) == (3, "Error")
    assert end(pod)["message"].endswith("ValueError: no data\n")


async def test_a_program_may_leave_a_message_of_its_own(client: Client) -> None:
    pod = await done(client, a_pod("p", "echo noise; echo -n 'disk full' > /dev/termination-log; exit 1"))
    assert end(pod)["message"] == "disk full"


async def test_a_running_pod_has_an_address_and_is_ready(client: Client) -> None:
    await client.create(a_pod("p", "sleep 1000"))
    pod = await waits.until(client, "pods", "p", is_running)
    assert pod["status"]["podIP"] == pod["status"]["podIPs"][0]["ip"]
    assert pod["status"]["hostIP"]
    for type in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"):
        assert conditions.is_true(pod["status"]["conditions"], type)


async def test_a_failed_container_is_restarted_in_place_and_counted(client: Client) -> None:
    script = "cat /scratch/n 2>/dev/null; echo x >> /scratch/n; [ $(wc -l < /scratch/n) -ge 2 ] || exit 1"
    volume: Object = {"name": "v", "emptyDir": {}}
    container = a_container(script, volumeMounts=[{"name": "v", "mountPath": "/scratch"}])
    pod = await done(client, a_pod("p", container, policy="OnFailure", volumes=[volume]))
    assert phase(pod) == "Succeeded"
    assert status(pod)["restartCount"] == 1
    assert status(pod)["lastState"]["terminated"]["exitCode"] == 1


async def test_a_container_that_keeps_failing_is_given_time(client: Client) -> None:
    await client.create(a_pod("p", "exit 4", policy="Always"))
    pod = await waits.until(client, "pods", "p", lambda pod: waiting(pod).get("reason") == "CrashLoopBackOff")
    assert phase(pod) == "Running"
    uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
    assert waiting(pod)["message"] == f"back-off 1s restarting failed container=main pod=p_{namespace}({uid})"
    assert status(pod)["restartCount"] == 1
    assert status(pod)["lastState"]["terminated"]["exitCode"] == 4


async def test_what_a_run_before_said_can_still_be_read(client: Client) -> None:
    await client.create(a_pod("p", "echo run; exit 1", policy="Always"))
    await waits.until(client, "pods", "p", lambda pod: status(pod)["restartCount"] >= 1)
    assert await log_of(client, "p", previous=True) == "run\n"


async def test_init_containers_run_in_order_and_sidecars_beside_the_work(client: Client) -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    early = [
        a_container("echo one >> /v/n", "one", volumeMounts=mounts),
        a_container(
            "echo side >> /v/n; exec sleep 1000", "side", restartPolicy="Always", volumeMounts=mounts
        ),
        a_container(
            "while ! grep -q side /v/n; do sleep 0.05; done; echo two >> /v/n", "two", volumeMounts=mounts
        ),
    ]
    work = a_container("cat /v/n; ! grep -q nothing /v/n", volumeMounts=mounts)
    pod = await done(client, a_pod("p", work, initContainers=early, volumes=[{"name": "v", "emptyDir": {}}]))
    assert phase(pod) == "Succeeded"
    assert await log_of(client, "p") == "one\nside\ntwo\n"
    assert status(pod, "side")["state"]["terminated"]["exitCode"] in (143, 137)


async def test_a_failed_init_container_fails_the_pod(client: Client) -> None:
    pod = await done(client, a_pod("p", "true", initContainers=[a_container("exit 5", "early")]))
    assert phase(pod) == "Failed"
    assert end(pod, "early")["exitCode"] == 5
    assert waiting(pod)["reason"] == "PodInitializing"


async def test_a_command_that_is_not_there_is_told_in_words(client: Client) -> None:
    container: Object = {"name": "main", "image": "x", "command": ["no-such-program"]}
    pod = await done(client, a_pod("p", container))
    assert phase(pod) == "Failed"
    assert end(pod)["reason"] == "StartError"
    assert "no-such-program" in end(pod)["message"]


async def test_a_pod_without_a_command_says_what_to_set(client: Client) -> None:
    await client.create(a_pod("p", {"name": "main", "image": "pytorch/pytorch:2"}))
    pod = await waits.until(client, "pods", "p", lambda pod: "message" in waiting(pod))
    assert waiting(pod)["reason"] == "CreateContainerError"
    assert waiting(pod)["message"].endswith("has no entry point: set its command")


async def test_a_missing_configmap_is_named_and_waited_for(client: Client) -> None:
    variable = {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "mode"}}}
    await client.create(a_pod("p", a_container("echo $MODE", env=[variable])))
    pod = await waits.until(client, "pods", "p", lambda pod: "message" in waiting(pod))
    assert waiting(pod) == {"reason": "CreateContainerConfigError", "message": 'configmap "late" not found'}
    await client.create(a_config_map("late", {"mode": "fast"}))
    await waits.until(client, "pods", "p", is_over)
    assert await log_of(client, "p") == "fast\n"


async def test_a_missing_claim_is_named(client: Client) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "none"}}
    mount = {"name": "data", "mountPath": "/data"}
    await client.create(a_pod("p", a_container("true", volumeMounts=[mount]), volumes=[volume]))
    pod = await waits.until(client, "pods", "p", lambda pod: "message" in waiting(pod))
    assert 'persistentvolumeclaim "none" not found' in waiting(pod)["message"]


async def test_several_containers_share_the_pods_fate(client: Client) -> None:
    pod = await done(client, a_pod("p", a_container("true", "good"), a_container("exit 2", "bad")))
    assert phase(pod) == "Failed"
    assert (end(pod, "good")["exitCode"], end(pod, "bad")["exitCode"]) == (0, 2)


async def test_a_pod_that_takes_too_long_is_ended(client: Client) -> None:
    pod = await done(client, a_pod("p", "sleep 1000", activeDeadlineSeconds=1))
    assert dig(pod, "status", "reason") == "DeadlineExceeded"
    assert phase(pod) == "Failed"


@pytest.mark.root
async def test_too_much_memory_is_told_apart_from_other_ends(client: Client) -> None:
    container: Object = {
        "name": "main",
        "image": "x",
        "command": ["python", "-c", "x = bytearray(512 << 20); print(len(x))"],
        "resources": {"limits": {"memory": "64Mi"}},
    }
    pod = await done(client, a_pod("p", container))
    assert (end(pod)["reason"], end(pod)["exitCode"]) == ("OOMKilled", 137)


async def test_events_tell_the_story_in_upstreams_words(client: Client) -> None:
    await done(client, a_pod("p", "true"))

    async def told() -> None:
        found = [one["message"] for one in (await client.list("events")).items]
        assert "Created container: main" in found
        assert "Started container main" in found
        assert any(
            one.startswith('Container image "example.com/image:1" is the local environment') for one in found
        )

    await waits.eventually(told)


async def test_kubectl_shows_node_and_pod_as_on_a_cluster(client: Client, kubectl: Kubectl) -> None:
    await client.create(a_pod("p", "sleep 1000"))
    pod = await waits.until(client, "pods", "p", is_running)
    shown = kubectl("get", "pod", "p", "-n", client.namespace, "-o", "wide").stdout
    assert shown.splitlines()[1].split()[:4] == ["p", "1/1", "Running", "0"]
    assert pod["status"]["podIP"] in shown
    nodes = kubectl("get", "nodes", "-o", "wide").stdout
    assert "Ready" in nodes
    described = kubectl("describe", "node", pod["spec"]["nodeName"]).stdout
    assert "KubeletReady" in described
    assert "node.kubernetes.io/instance-type=trainshed" in described
    assert "Started container main" in kubectl("describe", "pod", "p", "-n", client.namespace).stdout


async def test_a_sub_path_no_folder_can_have_waits_with_a_reason(client: Client) -> None:
    mounts = [{"name": "v", "mountPath": "/v", "subPath": "x" * 300}]
    container = a_container("exit 0", volumeMounts=mounts)
    await client.create(a_pod("p", container, volumes=[{"name": "v", "emptyDir": {}}]))
    pod = await waits.until(client, "pods", "p", lambda pod: "cannot be made" in str(waiting(pod)))
    assert waiting(pod)["reason"] == "CreateContainerConfigError"


async def test_a_variable_with_a_zero_byte_waits_with_a_reason(client: Client) -> None:
    await client.create(a_config_map("odd", {"A": "a\0b"}))
    container = a_container("exit 0", envFrom=[{"configMapRef": {"name": "odd"}}])
    await client.create(a_pod("p", container))
    pod = await waits.until(client, "pods", "p", lambda pod: "NUL byte" in str(waiting(pod)))
    assert waiting(pod) == {
        "reason": "CreateContainerError",
        "message": "container \"main\": environment variable 'A' has a NUL byte in it",
    }


async def test_a_hook_may_say_a_lot(client: Client) -> None:
    talk = "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; touch /v/done"
    container = a_container(
        "while [ ! -e /v/done ]; do sleep 0.05; done",
        volumeMounts=[{"name": "v", "mountPath": "/v"}],
        lifecycle={"postStart": {"exec": {"command": ["sh", "-c", talk]}}},
    )
    await client.create(a_pod("p", container, volumes=[{"name": "v", "emptyDir": {}}]))
    assert phase(await waits.until(client, "pods", "p", is_over)) == "Succeeded"
