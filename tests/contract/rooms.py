"""A namespace of a test's own: what limits a namespace must not limit other tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

from tests import waits
from tests.builders import a_namespace, a_waiting_pod
from trainshed.client.client import Client
from trainshed.kube.faults import NotFound
from trainshed.kube.objects import JSON, Object

Amounts = Mapping[str, str]


@asynccontextmanager
async def room(client: Client, name: str, **labels: str) -> AsyncIterator[str]:
    """Made with what each namespace gets, so that counts of it do not change by themselves."""
    await client.create(a_namespace(name, labels={key.replace("__", "/"): labels[key] for key in labels}))
    try:
        await waits.eventually(lambda: client.get("serviceaccounts", "default", name), NotFound)
        await waits.eventually(lambda: client.get("configmaps", "kube-root-ca.crt", name), NotFound)
        yield name
    finally:
        await client.delete("namespaces", name)


def a_quota(name: str, hard: Amounts, **spec: JSON) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": dict(hard), **spec},
    }


def a_limit_range(
    name: str, kind: Literal["Container", "Pod", "PersistentVolumeClaim"], **item: Amounts
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": name},
        "spec": {"limits": [{"type": kind, **item}]},
    }


def a_sized_pod(name: str, requests: Amounts, limits: Amounts | None = None, **spec: JSON) -> Object:
    """A pod that waits for ever, with amounts."""
    resources = {"requests": dict(requests)} | ({"limits": dict(limits)} if limits else {})
    container = {"name": "main", "image": "example.com/image:1", "resources": resources}
    return a_waiting_pod(name, {"containers": [container], **spec})


def a_claim(name: str, storage: str, **spec: JSON) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": storage}},
            "storageClassName": "nobody-provides-this",
            **spec,
        },
    }


async def enforced(client: Client, quota: Object, namespace: str) -> Object:
    """A quota once its status says that it counts."""
    await client.create(quota, namespace)
    return await used(client, quota["metadata"]["name"], namespace, lambda amounts: bool(amounts))


async def used(client: Client, name: str, namespace: str, claim: JSON) -> Object:
    """What a quota says is used, as soon as the claim (a dict or a function) holds for it."""

    def holds(quota: Object) -> bool:
        status = quota.get("status") or {}
        found = status.get("used") or {}
        as_wanted = claim(found) if callable(claim) else found == claim
        return bool(as_wanted) and status.get("hard") == quota["spec"]["hard"]

    found = await waits.until(client, "resourcequotas", name, holds, namespace)
    amounts: Object = found["status"]["used"]
    return amounts
