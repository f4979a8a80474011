"""How pods end: with time to say goodbye, by force, by their probes."""

from __future__ import annotations

import asyncio
import time

from tests import waits
from tests.agent.pods import a_container, a_pod, is_over, is_running, phase, status, waiting
from trainshed.client.client import Client
from trainshed.client.requests import Delete, LogOptions
from trainshed.kube import conditions, verdicts
from trainshed.kube.objects import JSON, Object, dig

PATIENT = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
DEAF = "trap '' TERM; echo up; while :; do sleep 0.05; done"


async def running(client: Client, pod: Object) -> Object:
    """The pod, once it has said that it is up."""
    await client.create(pod)
    name = pod["metadata"]["name"]
    found = await waits.until(client, "pods", name, is_running)
    async with asyncio.timeout(waits.SECONDS):
        async for piece in client.logs(name, options=LogOptions(follow=True)):
            if b"up" in piece:
                break
    return found


async def last_seen(client: Client, name: str) -> Object:
    """The last state of a pod before it was gone."""
    last: Object = {}
    async with asyncio.timeout(waits.SECONDS), client.watch("pods") as changes:
        await client.delete("pods", name)
        async for change in changes:
            if dig(change.object, "metadata", "name") != name:
                continue
            if change.type == "DELETED":
                return last
            last = change.object
    raise AssertionError("a watch does not end by itself")


async def test_a_deleted_pod_may_say_goodbye(client: Client) -> None:
    await running(client, a_pod("p", PATIENT))
    last = await last_seen(client, "p")
    assert phase(last) == "Succeeded"
    assert status(last)["state"]["terminated"]["exitCode"] == 0


async def test_a_pod_that_does_not_listen_is_killed_after_its_time(client: Client) -> None:
    await running(client, a_pod("p", DEAF, terminationGracePeriodSeconds=2))
    began = time.monotonic()
    last = await last_seen(client, "p")
    assert 1.5 < time.monotonic() - began < 10
    assert status(last)["state"]["terminated"]["exitCode"] == 137


async def test_a_second_deletion_can_only_hurry(client: Client) -> None:
    await running(client, a_pod("p", DEAF, terminationGracePeriodSeconds=600))
    await client.delete("pods", "p")
    await client.delete("pods", "p", options=Delete(grace_seconds=1))
    await waits.until_gone(client, "pods", "p")


async def test_a_pod_removed_by_force_leaves_nothing_running(client: Client) -> None:
    pod = await running(client, a_pod("p", f"{DEAF}", terminationGracePeriodSeconds=2))
    await client.delete("pods", "p", options=Delete(grace_seconds=0))
    await waits.until_gone(client, "pods", "p")
    await client.create(a_pod("p", PATIENT))
    after = await waits.until(client, "pods", "p", is_running)
    assert after["metadata"]["uid"] != pod["metadata"]["uid"]


async def test_hooks_run_after_the_start_and_before_the_end(client: Client) -> None:
    volume: Object = {"name": "v", "emptyDir": {}}
    mounts = [{"name": "v", "mountPath": "/v"}]

    def hook(line: str) -> Object:
        return {"exec": {"command": ["sh", "-c", f"{line} >> /v/story"]}}

    script = "trap 'cat /v/story > /dev/termination-log; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    # The first is still under way when the pod is deleted; the second waits for it.
    lifecycle = {"postStart": hook("sleep 1; echo started"), "preStop": hook("echo stopping")}
    container = a_container(script, volumeMounts=mounts, lifecycle=lifecycle)
    await running(client, a_pod("p", container, volumes=[volume]))
    last = await last_seen(client, "p")
    assert status(last)["state"]["terminated"]["message"] == "started\nstopping\n"


async def test_sidecars_end_after_the_work(client: Client) -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    side = a_container(
        "trap 'cat /v/n > /dev/termination-log; exit 0' TERM; while :; do sleep 0.05; done",
        "side",
        restartPolicy="Always",
        volumeMounts=mounts,
    )
    work = a_container(
        "trap 'sleep 0.5; echo saved > /v/n; exit 0' TERM; echo up; while :; do sleep 0.05; done",
        volumeMounts=mounts,
    )
    await running(client, a_pod("p", work, initContainers=[side], volumes=[{"name": "v", "emptyDir": {}}]))
    last = await last_seen(client, "p")
    assert status(last, "side")["state"]["terminated"]["message"] == "saved\n"


async def test_a_pod_that_cannot_start_can_be_deleted(client: Client) -> None:
    volume = {"name": "v", "secret": {"secretName": "none"}}
    mount = {"name": "v", "mountPath": "/v"}
    await client.create(a_pod("p", a_container("true", volumeMounts=[mount]), volumes=[volume]))
    await waits.until(client, "pods", "p", lambda pod: "message" in waiting(pod))
    await client.delete("pods", "p")
    await waits.until_gone(client, "pods", "p")


# --- probes ---


def probed(**probes: JSON) -> Object:
    return a_container("python -m http.server 8080 --directory /tmp & echo up; wait", **probes)


async def test_a_pod_is_ready_when_its_web_server_answers(client: Client) -> None:
    probe = {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 1}
    container = probed(readinessProbe=probe, ports=[{"name": "web", "containerPort": 8080}])
    await client.create(a_pod("p", container))
    early = await waits.until(client, "pods", "p", is_running)
    assert not status(early)["ready"]
    await waits.until(
        client, "pods", "p", lambda pod: conditions.is_true(dig(pod, "status", "conditions"), "Ready")
    )


async def test_a_port_that_nobody_listens_on_is_not_ready(client: Client) -> None:
    probe = {"tcpSocket": {"port": 9}, "periodSeconds": 1, "failureThreshold": 1}
    await client.create(a_pod("p", a_container("sleep 1000", readinessProbe=probe)))

    async def unhealthy() -> None:
        found = [one["message"] for one in (await client.list("events")).items]
        assert any(one.startswith("Readiness probe failed") for one in found)

    await waits.eventually(unhealthy)
    assert not status(await client.get("pods", "p"))["ready"]


async def test_a_container_that_fails_its_liveness_probe_is_restarted(client: Client) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    container = a_container("sleep 1000", livenessProbe={**probe, "terminationGracePeriodSeconds": 1})
    await client.create(a_pod("p", container, policy="Always"))
    await waits.until(client, "pods", "p", lambda pod: status(pod)["restartCount"] >= 1)
    found = [one["message"] for one in (await client.list("events")).items]
    assert "Container main failed liveness probe, will be restarted" in found


async def test_a_pod_says_which_probe_had_it_ended_and_what_that_said(client: Client) -> None:
    words = ["sh", "-c", "echo no heartbeat >&2; false"]
    probe: Object = {"exec": {"command": words}, "periodSeconds": 1, "failureThreshold": 1}
    container = a_container(
        "echo step 7; exec sleep 1000", livenessProbe={**probe, "terminationGracePeriodSeconds": 1}
    )
    await client.create(a_pod("p", container))
    pod = await waits.until(client, "pods", "p", is_over)
    end = status(pod)["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) in ((137, "Error"), (143, "Error"))
    assert verdicts.agents_reason(end["message"]) == "its liveness probe failed: no heartbeat"
    assert end["message"].endswith("\nstep 7")


async def test_a_pod_says_that_its_hook_had_it_ended(client: Client) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo no licence; false"]}}}
    await client.create(a_pod("p", a_container("exec sleep 1000", lifecycle=hook)))
    pod = await waits.until(client, "pods", "p", is_over)
    end = status(pod)["state"]["terminated"]
    assert verdicts.agents_reason(end["message"]) == "its postStart hook failed: no licence"


async def test_other_probes_wait_for_the_startup_probe(client: Client) -> None:
    startup = {
        "exec": {"command": ["sh", "-c", "test -e /v/ready"]},
        "periodSeconds": 1,
        "failureThreshold": 60,
    }
    container = a_container(
        "sleep 0.5; touch /v/ready; sleep 1000",
        startupProbe=startup,
        livenessProbe={"exec": {"command": ["test", "-e", "/v/ready"]}, "failureThreshold": 1},
        volumeMounts=[{"name": "v", "mountPath": "/v"}],
    )
    await client.create(a_pod("p", container, volumes=[{"name": "v", "emptyDir": {}}]))
    pod = await waits.until(client, "pods", "p", lambda pod: is_running(pod) and status(pod)["ready"])
    assert status(pod)["started"]
    assert status(pod)["restartCount"] == 0


async def test_a_finished_pod_goes_at_once_when_deleted(client: Client) -> None:
    await client.create(a_pod("p", "true"))
    await waits.until(client, "pods", "p", is_over)
    await client.delete("pods", "p")
    await waits.until_gone(client, "pods", "p")
