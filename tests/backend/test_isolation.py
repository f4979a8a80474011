"""No tenant sees or touches another's: every route of the OpenAPI document, tried with a foreign token."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests import waits
from tests.backend import bodies, foreign, people, service
from tests.backend.foreign import Attempt, Belongings
from tests.backend.people import Person
from tests.backend.service import Backend
from tests.builders import a_secret
from tests.contract.rooms import a_claim
from trainshed.backend.plane import Plane
from trainshed.client.client import Client
from trainshed.kube.faults import Forbidden
from trainshed.kube.objects import Object

WORD = f"hush{secrets.token_hex(6)}"
"""Written into everything the victim has that is not a name."""
KINDS = (
    "configmaps", "secrets", "persistentvolumeclaims", "serviceaccounts", "resourcequotas", "limitranges",
    "rolebindings.rbac.authorization.k8s.io", "trainjobs.trainer.kubeflow.org",
    "trainingruntimes.trainer.kubeflow.org", "jobsets.jobset.x-k8s.io", "jobs.batch", "pods",
)  # fmt: skip
SECONDS = 60.0


@dataclass(frozen=True)
class Scene:
    victim: Person
    stranger: Person
    theirs: Belongings
    document: Object


@pytest.fixture(scope="module")
def scene(backend: Backend) -> Iterator[Scene]:
    ends = secrets.token_hex(3)
    quota = {"jobs": 40, "pods": 40, "other": {"count/configmaps": "200"}}
    with (
        people.person(backend, f"victim-{ends}", description=WORD) as victim,
        people.person(backend, f"stranger-{ends}", quota=quota) as stranger,
        victim.rest() as rest,
    ):
        theirs = _belongings(victim, rest)
        yield Scene(victim, stranger, theirs, service.ok(rest.get("/openapi.json")))


def _belongings(victim: Person, rest: httpx.Client) -> Belongings:
    """A finished job with lines, one that was deleted, and everything else a tenant may have."""
    jobs = [_finished(victim, rest) for _ in range(2)]
    uid = service.ok(rest.get(f"/api/trainjob/{jobs[1]}"))["uid"]
    service.ok(rest.delete(f"/api/trainjob/{jobs[1]}"))
    token = people.issued(victim.backend, victim.name, description=WORD)["id"]
    return Belongings(victim.name, jobs[0], uid, "own-runtime", "own-secret", "own-claim", token, "victim1")


def _finished(victim: Person, rest: httpx.Client) -> str:
    body = bodies.small(victim.name, f"print('{WORD}')\n", user_id="victim1", labels={"word": WORD})
    name = str(service.ok(rest.post("/api/trainjob/create", json=body))["trainjob_name"])
    deadline = time.monotonic() + SECONDS
    while (found := service.ok(rest.get(f"/api/trainjob/{name}/status")))["state"] == "Running":
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    assert found["state"] == "Complete", found
    return name


@pytest.fixture
async def furnished(backend: Backend, scene: Scene) -> None:
    """What is not made by this service: a Secret, a claim, a runtime."""
    runtime: Object = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": scene.theirs.runtime, "labels": {"trainer.kubeflow.org/framework": "torch"}},
    }
    container = {"name": "node", "image": f"example.com/{WORD}:1"}
    pod = {
        "labels": {"word": WORD},
        "annotations": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"},
    }
    step = {
        "name": "node",
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": {"metadata": pod, "spec": {"containers": [container]}}},
        },
    }
    runtime["spec"] = {
        "mlPolicy": {"numNodes": 1},
        "template": {"spec": {"replicatedJobs": [step]}},
    }
    async with backend.client(scene.victim.name) as client:
        if await client.find("secrets", scene.theirs.secret) is None:
            await client.create(a_secret(scene.theirs.secret, {"word": WORD}))
            await client.create(a_claim(scene.theirs.claim, "1Gi"))
            await client.create(runtime)
            # Binding it is a change, too, and nobody's that is looked for here.
            claimed = "persistentvolumeclaims", scene.theirs.claim
            await waits.until(client, *claimed, lambda claim: claim["status"]["phase"] == "Bound")


async def _state(client: Client) -> dict[str, str]:
    """Everything of the victim, by its revision."""
    found: dict[str, str] = {}
    for kind in KINDS:
        for obj in (await client.list(kind)).items:
            found[f"{kind} {obj['metadata']['name']}"] = f"{obj['metadata']['uid']} {_revision(kind, obj)}"
    namespace = await client.get("namespaces", client.namespace)
    return {**found, "namespace": str(namespace["metadata"].get("annotations")) + str(namespace["status"])}


def _revision(kind: str, obj: Object) -> str:
    """A quota's count and a pod's end are nobody's writing."""
    return "" if kind in ("resourcequotas", "pods") else str(obj["metadata"]["resourceVersion"])


def _tried(rest: httpx.Client, attempt: Attempt) -> tuple[int, str]:
    """Status and as much of the text as comes within a moment: streams do not end by themselves."""
    text, deadline = "", time.monotonic() + 1.0
    with rest.stream(attempt.method, attempt.path, **attempt.request()) as answer:
        try:
            for piece in answer.iter_text():
                text += piece
                if time.monotonic() > deadline or len(text) > 1 << 20:
                    break
        except httpx.ReadTimeout:
            pass
        return answer.status_code, text


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("furnished")
async def test_no_route_shows_or_changes_anything_of_another_tenant(backend: Backend, scene: Scene) -> None:
    tried = 0
    async with backend.client(scene.victim.name) as client:
        before = await _state(client)
        with scene.stranger.rest() as rest:
            rest.timeout = httpx.Timeout(60.0, read=10.0)
            for attempt in foreign.attempts(scene.document, scene.theirs, scene.stranger.name):
                status, text = _tried(rest, attempt)
                assert WORD not in text, f"{attempt}: {status} {text[:2000]}"
                assert status < 500, f"{attempt}: {status} {text[:2000]}"
                if status < 400 and scene.theirs.namespace not in str(attempt):
                    assert scene.theirs.namespace not in text, f"{attempt}: {text[:2000]}"
                tried += 1
        assert await _state(client) == before
    assert tried > 10 * len(list(foreign.routes(scene.document)))


@pytest.mark.usefixtures("furnished")
def test_the_same_requests_show_a_tenant_its_own(scene: Scene) -> None:
    """The test above is worth something only if these questions have answers."""
    seen: set[str] = set()
    with scene.victim.rest() as rest:
        rest.timeout = httpx.Timeout(60.0, read=2.0)
        for attempt in foreign.attempts(scene.document, scene.theirs, scene.stranger.name):
            is_plain = not attempt.headers and "%" not in attempt.path
            if (
                not attempt.changes
                and is_plain
                and attempt.route not in seen
                and WORD in _tried(rest, attempt)[1]
            ):
                seen.add(attempt.route)
    assert {
        "/api/tenants", "/api/tenants/{tenant}", "/api/tenants/{tenant}/tokens", "/api/runtimes/{name}",
        "/api/trainjob/{name}", "/api/trainjob/{name}/logs", "/api/trainjob/{name}/logs/stream",
        "/api/history/{uid}/logs",
    } <= seen, seen  # fmt: skip


@pytest.mark.usefixtures("furnished")
async def test_the_kubernetes_api_itself_is_as_closed(backend: Backend, scene: Scene) -> None:
    """A tenant's token also opens the API behind the service: nothing more may lie there."""
    plane = Plane(backend.cluster.config())
    try:
        client = plane.as_caller(scene.stranger.token)
        for kind in KINDS:
            for place in (scene.victim.name, ""):
                with pytest.raises(Forbidden):
                    await client.list(kind, place)
    finally:
        await plane.close()
