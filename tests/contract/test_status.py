"""Subresources: status beside spec, and the ones that do something."""

from __future__ import annotations

import pytest

from tests import waits
from tests.builders import a_job, a_waiting_pod, unlocked
from trainshed.client.client import Client
from trainshed.client.requests import Delete, LogOptions
from trainshed.kube.faults import BadRequest, Conflict, NotFound


class TestStatus:
    async def test_the_main_endpoint_leaves_the_status_alone(self, client: Client, name: str) -> None:
        made = await client.create(a_waiting_pod(name))
        after = await client.patch("pods", name, {"status": {"message": "ignored"}})
        assert "message" not in after["status"]
        assert after["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    async def test_the_status_endpoint_changes_nothing_but_the_status(
        self, client: Client, name: str
    ) -> None:
        made = await client.create(a_waiting_pod(name))
        changed = unlocked(made)
        changed["spec"] = {**made["spec"], "activeDeadlineSeconds": 5}
        changed["status"] = {**made["status"], "message": "hello"}
        after = await client.write_status(changed)
        assert after["status"]["message"] == "hello"
        assert "activeDeadlineSeconds" not in after["spec"]

    async def test_the_status_can_be_read_on_its_own(self, client: Client, name: str) -> None:
        made = await client.create(a_waiting_pod(name))
        found = await client.get("pods", name, subresource="status")
        assert (found["kind"], found["metadata"]["uid"]) == ("Pod", made["metadata"]["uid"])

    async def test_a_status_sent_with_a_new_object_is_dropped(self, client: Client, name: str) -> None:
        made = await client.create({**a_waiting_pod(name), "status": {"phase": "Succeeded"}})
        assert made["status"]["phase"] == "Pending"

    async def test_conditions_merge_by_their_type(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        for kind in ("example.com/a", "example.com/b"):
            condition = {"type": kind, "status": "True"}
            after = await client.patch(
                "pods", name, {"status": {"conditions": [condition]}}, type="strategic", subresource="status"
            )
        assert {"example.com/a", "example.com/b"} <= {item["type"] for item in after["status"]["conditions"]}


class TestGeneration:
    async def test_it_counts_changes_of_the_spec_only(self, client: Client, name: str) -> None:
        job = a_job(name)
        job["spec"]["suspend"] = True
        made = await client.create(job)
        labelled = await client.patch("jobs.batch", name, {"metadata": {"labels": {"a": "b"}}})
        changed = await client.patch("jobs.batch", name, {"spec": {"parallelism": 3}})
        found = [it["metadata"]["generation"] for it in (made, labelled, changed)]
        assert found == [1, 1, 2]


class TestEviction:
    async def test_an_evicted_pod_goes(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        answer = await client.create_under("pods", name, "eviction", eviction)
        assert (answer["kind"], answer["status"]) == ("Status", "Success")
        await waits.until_gone(client, "pods", name)


class TestBinding:
    async def test_a_bound_pod_names_its_node(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": f"node-{name}"},
        }
        await client.create_under("pods", name, "binding", binding)
        bound = await client.get("pods", name)
        assert bound["spec"]["nodeName"] == f"node-{name}"
        assert any(
            it["type"] == "PodScheduled" and it["status"] == "True" for it in bound["status"]["conditions"]
        )
        with pytest.raises(Conflict, match=f"pod {name} is already assigned to node"):
            await client.create_under("pods", name, "binding", binding)
        # The node does not exist, so nobody would ever confirm a graceful end.
        await client.delete("pods", name, options=Delete(grace_seconds=0))


class TestLogs:
    async def test_a_pod_that_is_not_there_has_no_log(self, client: Client, name: str) -> None:
        with pytest.raises(NotFound, match=f'^pods "{name}" not found$'):
            _ = [piece async for piece in client.logs(name)]

    async def test_a_container_that_is_not_there_has_no_log(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        with pytest.raises(BadRequest, match=f"^container none is not valid for pod {name}$"):
            _ = [piece async for piece in client.logs(name, options=LogOptions(container="none"))]

    async def test_a_pod_without_a_node_has_an_empty_log(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        assert [piece async for piece in client.logs(name)] == []
