"""What the server refuses to an operator: told where its rights are too narrow, left alone where all ends."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from tests import waits
from tests.builders import a_config_map, a_namespace, a_train_job
from tests.loops.operators import Operator
from tests.loops.test_jobset import a_jobset
from tests.loops.v1_pods import a_job
from tests.servers import Cluster
from trainshed.client.client import Client
from trainshed.client.requests import Where
from trainshed.controllers import trainjob
from trainshed.controllers.jobset.reconcile import controller as jobset_controller
from trainshed.controllers.v1jobs.reconcile import controllers as v1_controllers
from trainshed.jobs.summary import summarize
from trainshed.kinds.kubeflow.families import MPI, PYTORCH
from trainshed.kube import conditions
from trainshed.kube.faults import Fault
from trainshed.kube.objects import Object, dig, text
from trainshed.loop.caches import Caches
from trainshed.loop.controller import Controller
from trainshed.loop.events import Recorder
from trainshed.loop.keys import Key
from trainshed.loop.world import World

TRAINJOBS = "trainjobs.trainer.kubeflow.org"
READ = ["get", "list", "watch"]
CORE = {"apiGroups": [""], "resources": ["*"], "verbs": ["*"]}
TRAINING = {
    "apiGroups": ["trainer.kubeflow.org", "jobset.x-k8s.io", "kubeflow.org"],
    "resources": ["*"],
    "verbs": ["*"],
}


def may(group: str, resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


@asynccontextmanager
async def narrow(
    cluster: Cluster, client: Client, rules: Sequence[Object], *controllers: Controller
) -> AsyncIterator[None]:
    """Controllers at work with these rights alone."""
    user, group = f"narrow-{client.namespace}", "rbac.authorization.k8s.io"
    meta = {"apiVersion": f"{group}/v1", "metadata": {"name": user}}
    await client.create({**meta, "kind": "ClusterRole", "rules": list(rules)})
    role = {"apiGroup": group, "kind": "ClusterRole", "name": user}
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    await client.create({**meta, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects})
    admin = cluster.config()
    config = dataclasses.replace(
        admin, user=dataclasses.replace(admin.user, impersonate=(("Impersonate-User", user),))
    )
    async with Client.connect(config) as limited:
        operator = Operator(limited, controllers)
        await operator.start()
        try:
            yield
        finally:
            await operator.stop()


async def told(client: Client, name: str, reason: str) -> str:
    """The message of the first event of a reason."""

    async def attempt() -> str:
        where = Where(fields=f"involvedObject.name={name},reason={reason}")
        found = [str(event["message"]) for event in (await client.list("events", where=where)).items]
        assert found
        return found[0]

    return await waits.eventually(attempt)


def said(job: Object, type: str) -> str:
    return text(conditions.find(dig(job, "status", "conditions"), type), "message")


# --- rights that are too narrow -----------------------------------------------------------------------------


async def test_an_mpijob_says_what_the_operator_may_not_make_for_it(
    cluster: Cluster, client: Client, name: str
) -> None:
    async with narrow(cluster, client, [CORE, TRAINING], *v1_controllers()):
        await client.create(a_job(MPI, name, None, Launcher=1, Worker=1))
        why = await told(client, name, "FailedCreateRole")
        assert 'cannot get resource "roles"' in why
        job = await waits.until(client, MPI.resource, name, lambda job: '"roles"' in said(job, "Created"))
    assert summarize(job).message.startswith("Pods cannot be made: ")


async def test_a_trainjob_says_that_its_jobset_may_not_make_jobs(
    cluster: Cluster, client: Client, name: str
) -> None:
    rules = [CORE, TRAINING, may("batch", ["jobs"], READ)]
    async with narrow(cluster, client, rules, trainjob.controller(patience=0.2), jobset_controller()):
        await client.create(a_train_job(name))
        job = await waits.until(client, TRAINJOBS, name, lambda job: said(job, "Waiting"))
    assert 'cannot create resource "jobs"' in said(job, "Waiting")


async def test_a_trainjob_says_that_its_jobs_may_not_be_resumed(
    cluster: Cluster, client: Client, name: str
) -> None:
    rules = [CORE, TRAINING, may("batch", ["jobs"], [*READ, "create"])]
    async with narrow(cluster, client, rules, trainjob.controller(patience=0.2), jobset_controller()):
        await client.create(a_train_job(name, {"suspend": True}))
        await waits.until(client, "jobs", f"{name}-node-0", bool)
        await client.patch(TRAINJOBS, name, {"spec": {"suspend": False}})
        job = await waits.until(client, TRAINJOBS, name, lambda job: said(job, "Waiting"))
    assert 'cannot patch resource "jobs"' in said(job, "Waiting")


async def test_a_status_that_may_not_be_written_is_told_by_an_event(
    cluster: Cluster, client: Client, name: str
) -> None:
    training = may("trainer.kubeflow.org", ["*"], READ)
    rules = [CORE, training, may("jobset.x-k8s.io", ["*"], ["*"]), may("batch", ["*"], READ)]
    async with narrow(cluster, client, rules, trainjob.controller()):
        await client.create(a_train_job(name, {"suspend": True}))
        assert 'cannot patch resource "trainjobs/status"' in await told(client, name, "NotAllowed")


# --- a namespace that is going ------------------------------------------------------------------------------


class Heard(Recorder):
    """Keeps what is told, beside writing it."""

    def __init__(self, client: Client) -> None:
        super().__init__(client, now)
        self.reasons: list[str] = []

    def record(self, component: str, about: Object, type: str, reason: str, message: str) -> None:
        self.reasons.append(reason)
        super().record(component, about, type, reason, message)


def now() -> datetime:
    return datetime.now(UTC)


async def a_world(client: Client, controller: Controller, recorder: Recorder) -> World:
    """All a controller watches, as it is now."""
    caches = Caches()
    for watch in controller.watches:
        caches.add(watch.kind, await client.resource(watch.kind), *watch.index_labels)
    for resource, cache in caches.items():
        found = await client.list(resource, client.namespace if resource.namespaced else None)
        for obj in found.items:
            cache.learn(obj)
    return World(controller.name, client, caches, recorder, now)


def pytorch() -> Controller:
    return next(found for found in v1_controllers() if found.name == PYTORCH.operator)


CASES = [
    (trainjob.controller, a_train_job),
    (jobset_controller, a_jobset),
    (pytorch, lambda name: a_job(PYTORCH, name, None, Master=1)),
]


@pytest.mark.parametrize(("controller", "wanted"), CASES, ids=["trainjob", "jobset", "pytorchjob"])
async def test_what_a_namespace_on_its_way_out_does_not_take_is_not_told(
    cluster: Cluster, name: str, controller: Callable[[], Controller], wanted: Callable[[str], Object]
) -> None:
    async with cluster.client(name) as client:
        await client.create(a_namespace(name))
        await client.create(a_config_map("held", finalizers=["example.com/hold"]))
        made = await client.create(wanted(name))
        chosen, recorder = controller(), Heard(client)
        world = await a_world(client, chosen, recorder)
        await client.delete("namespaces", name)
        await waits.until(client, "namespaces", name, lambda it: it["metadata"].get("deletionTimestamp"))
        with pytest.raises(Fault):
            await chosen.reconcile(Key(name, made["metadata"]["name"]), world)
        await client.patch("configmaps", "held", {"metadata": {"finalizers": None}})
    assert not [reason for reason in recorder.reasons if "Fail" in reason or reason == "NotAllowed"]
