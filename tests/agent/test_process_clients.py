"""Other people's clients of the API in pods that are plain processes."""

from __future__ import annotations

from tests import waits
from tests.agent.pods import a_pod, is_over, phase
from tests.agent.test_process_runner import client, log_of, place
from trainshed.client.client import Client

__all__ = ["client", "place"]


async def test_a_client_in_a_pod_finds_the_server_by_its_kubeconfig(client: Client) -> None:
    script = (
        "from kubernetes import client, config; config.load_config();"
        "from kubernetes.client.rest import ApiException\n"
        "me = client.AuthenticationV1Api().create_self_subject_review({}).status.user_info.username\n"
        "from kubeflow.trainer import TrainerClient\n"
        "try: TrainerClient().list_jobs()\n"
        "except RuntimeError as refused: print(me, refused.__cause__.status)"
    )
    container = {"name": "main", "image": "x", "command": ["python", "-c", script]}
    await client.create(a_pod("p", container))
    over = await waits.until(client, "pods", "p", is_over)
    said = await log_of(client, "p")
    assert phase(over) == "Succeeded", said
    assert said.splitlines()[-1] == "system:serviceaccount:default:default 403"
