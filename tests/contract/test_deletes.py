"""Deleting: preconditions, finalizers, dependents, whole collections."""

from __future__ import annotations

import pytest

from tests import waits
from tests.builders import a_config_map, a_job, a_waiting_pod, owner
from trainshed.client.client import Client
from trainshed.client.requests import Delete, Where
from trainshed.kube.faults import Conflict, Forbidden, Invalid, NotFound
from trainshed.kube.objects import Object

HOLD = "example.com/hold"


async def make_family(client: Client, name: str, **reference: bool) -> Object:
    """A ConfigMap that owns another one."""
    parent = await client.create(a_config_map(name))
    await client.create(a_config_map(f"{name}-child", ownerReferences=[owner(parent, **reference)]))
    return parent


class TestDelete:
    async def test_a_deleted_object_is_gone_and_its_uid_is_told(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        status = await client.delete("configmaps", name)
        assert (status["kind"], status["status"]) == ("Status", "Success")
        assert status["details"] == {"name": name, "kind": "configmaps", "uid": made["metadata"]["uid"]}
        with pytest.raises(NotFound):
            await client.get("configmaps", name)

    async def test_what_does_not_exist_cannot_be_deleted(self, client: Client, name: str) -> None:
        with pytest.raises(NotFound, match=f'^configmaps "{name}" not found$'):
            await client.delete("configmaps", name)

    async def test_a_pod_nobody_runs_goes_at_once_and_is_returned(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name))
        assert (await client.delete("pods", name))["kind"] == "Pod"
        await waits.until_gone(client, "pods", name)

    async def test_a_dry_deletion_deletes_nothing(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        await client.delete("configmaps", name, options=Delete(dry_run=True))
        assert await client.find("configmaps", name)


class TestPreconditions:
    async def test_another_uid_is_a_conflict(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        with pytest.raises(Conflict) as refused:
            await client.delete("configmaps", name, options=Delete(uid="abc"))
        assert refused.value.message == (
            f'Operation cannot be fulfilled on ConfigMap "{name}": the UID in the precondition (abc) does '
            f"not match the UID in record ({made['metadata']['uid']}). The object might have been deleted "
            "and then recreated"
        )

    async def test_another_revision_is_a_conflict(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        await client.patch("configmaps", name, {"data": {"a": "1"}})
        with pytest.raises(Conflict, match=r"the ResourceVersion in the precondition .* does not match"):
            await client.delete(
                "configmaps", name, options=Delete(revision=made["metadata"]["resourceVersion"])
            )

    async def test_conditions_that_hold_let_the_deletion_through(self, client: Client, name: str) -> None:
        meta = (await client.create(a_config_map(name)))["metadata"]
        await client.delete(
            "configmaps", name, options=Delete(uid=meta["uid"], revision=meta["resourceVersion"])
        )
        assert await client.find("configmaps", name) is None


class TestFinalizers:
    async def test_an_object_with_a_finalizer_stays_marked_as_deleted(
        self, client: Client, name: str
    ) -> None:
        await client.create(a_config_map(name, finalizers=[HOLD]))
        going = await client.delete("configmaps", name)
        assert going["kind"] == "ConfigMap"
        assert going["metadata"]["deletionTimestamp"]
        assert going["metadata"]["deletionGracePeriodSeconds"] == 0
        await client.patch("configmaps", name, {"metadata": {"finalizers": None}})

    async def test_only_kinds_that_count_generations_count_the_deletion_as_one(
        self, client: Client, name: str
    ) -> None:
        await client.create(a_config_map(name, finalizers=[HOLD]))
        await client.create(a_job(name, finalizers=[HOLD]))
        job = await client.delete("jobs.batch", name, options=Delete(propagation="Background"))
        assert job["metadata"]["generation"] == 2
        assert "generation" not in (await client.delete("configmaps", name))["metadata"]
        for kind in ("configmaps", "jobs.batch"):
            await client.patch(kind, name, {"metadata": {"finalizers": None}})

    async def test_removing_the_last_finalizer_lets_it_go(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, finalizers=[HOLD]))
        await client.delete("configmaps", name)
        last = await client.patch("configmaps", name, {"metadata": {"finalizers": None}})
        assert last["metadata"]["name"] == name
        assert await client.find("configmaps", name) is None

    async def test_no_finalizer_can_be_added_to_what_is_going(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, finalizers=[HOLD]))
        await client.delete("configmaps", name)
        with pytest.raises(
            Invalid, match=r"metadata.finalizers: Forbidden: no new finalizers can be added if the object"
        ):
            await client.patch("configmaps", name, {"metadata": {"finalizers": [HOLD, "example.com/more"]}})
        await client.patch("configmaps", name, {"metadata": {"finalizers": None}})

    async def test_a_finalizer_needs_a_qualified_name(self, client: Client, name: str) -> None:
        with pytest.raises(
            Invalid, match=r'metadata\.finalizers: Invalid value: "-": name part must consist of'
        ):
            await client.create(a_config_map(name, finalizers=["-"]))


class TestDependents:
    async def test_in_the_background_the_owner_goes_first_and_takes_them_along(
        self, client: Client, name: str
    ) -> None:
        await make_family(client, name)
        await client.delete("configmaps", name, options=Delete(propagation="Background"))
        assert await client.find("configmaps", name) is None
        await waits.until_gone(client, "configmaps", f"{name}-child")

    async def test_in_the_foreground_the_owner_waits_for_them(self, client: Client, name: str) -> None:
        await make_family(client, name, blockOwnerDeletion=True)
        await client.patch("configmaps", f"{name}-child", {"metadata": {"finalizers": [HOLD]}})
        going = await client.delete("configmaps", name, options=Delete(propagation="Foreground"))
        assert going["metadata"]["finalizers"] == ["foregroundDeletion"]
        await waits.until(
            client, "configmaps", f"{name}-child", lambda it: it["metadata"].get("deletionTimestamp")
        )
        assert await client.find("configmaps", name)
        await client.patch("configmaps", f"{name}-child", {"metadata": {"finalizers": None}})
        await waits.until_gone(client, "configmaps", name)

    async def test_orphans_stay_and_lose_their_reference(self, client: Client, name: str) -> None:
        await make_family(client, name)
        await client.delete("configmaps", name, options=Delete(propagation="Orphan"))
        await waits.until_gone(client, "configmaps", name)
        child = await client.get("configmaps", f"{name}-child")
        assert "ownerReferences" not in child["metadata"]

    async def test_whom_another_owner_keeps_stays(self, client: Client, name: str) -> None:
        first = await client.create(a_config_map(f"{name}-1"))
        second = await client.create(a_config_map(f"{name}-2"))
        await client.create(a_config_map(name, ownerReferences=[owner(first), owner(second)]))
        await client.delete("configmaps", f"{name}-1")
        left = await waits.until(
            client, "configmaps", name, lambda it: len(it["metadata"]["ownerReferences"]) == 1
        )
        assert left["metadata"]["ownerReferences"][0]["uid"] == second["metadata"]["uid"]

    async def test_whom_another_owner_keeps_stays_in_the_foreground_too(
        self, client: Client, name: str
    ) -> None:
        first = await client.create(a_config_map(f"{name}-1"))
        second = await client.create(a_config_map(f"{name}-2"))
        owners = [owner(parent, blockOwnerDeletion=True) for parent in (first, second)]
        await client.create(a_config_map(name, ownerReferences=owners))
        await client.delete("configmaps", f"{name}-1", options=Delete(propagation="Foreground"))
        await waits.until_gone(client, "configmaps", f"{name}-1")
        left = await client.get("configmaps", name)
        assert [item["name"] for item in left["metadata"]["ownerReferences"]] == [f"{name}-2"]

    @pytest.mark.parametrize("kept", [None, {"blockOwnerDeletion": False}], ids=["dropped", "unblocked"])
    async def test_an_owner_need_not_wait_for_whom_lets_it_go(
        self, client: Client, name: str, kept: Object | None
    ) -> None:
        parent = await make_family(client, name, blockOwnerDeletion=True)
        child = f"{name}-child"
        await client.patch("configmaps", child, {"metadata": {"finalizers": [HOLD]}})
        await client.delete("configmaps", name, options=Delete(propagation="Foreground"))
        await waits.until(client, "configmaps", child, lambda it: it["metadata"].get("deletionTimestamp"))
        references = None if kept is None else [owner(parent, **kept)]
        await client.patch("configmaps", child, {"metadata": {"ownerReferences": references}})
        await waits.until_gone(client, "configmaps", name)
        await client.patch("configmaps", child, {"metadata": {"finalizers": None}})

    async def test_owners_of_each_other_do_not_wait_for_ever(self, client: Client, name: str) -> None:
        parent = await make_family(client, name, blockOwnerDeletion=True)
        child = await client.get("configmaps", f"{name}-child")
        turned = {"metadata": {"ownerReferences": [owner(child, blockOwnerDeletion=True)]}}
        await client.patch("configmaps", parent["metadata"]["name"], turned)
        await client.delete("configmaps", name, options=Delete(propagation="Foreground"))
        await waits.until_gone(client, "configmaps", name)
        await waits.until_gone(client, "configmaps", f"{name}-child")

    async def test_one_that_waits_goes_on_waiting_when_its_own_owner_goes(
        self, client: Client, name: str
    ) -> None:
        await make_family(client, name)
        child = await client.get("configmaps", f"{name}-child")
        grandchild = a_config_map(
            f"{name}-grand", ownerReferences=[owner(child, blockOwnerDeletion=True)], finalizers=[HOLD]
        )
        await client.create(grandchild)
        await client.delete("configmaps", f"{name}-child", options=Delete(propagation="Foreground"))
        marker = await make_family(client, f"{name}-m")
        await client.delete("configmaps", name, options=Delete(propagation="Background"))
        # What is collected later than this has been looked at earlier: the collector goes by turns.
        await client.delete("configmaps", marker["metadata"]["name"])
        await waits.until_gone(client, "configmaps", f"{name}-m-child")
        assert await client.find("configmaps", f"{name}-child")
        await client.patch("configmaps", f"{name}-grand", {"metadata": {"finalizers": None}})
        await waits.until_gone(client, "configmaps", f"{name}-child")

    async def test_an_owner_that_never_was_takes_its_dependents_along(
        self, client: Client, name: str
    ) -> None:
        nobody = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "nobody",
            "uid": "00000000-0000-0000-0000-000000000000",
        }
        await client.create(a_config_map(name, ownerReferences=[nobody]))
        await waits.until_gone(client, "configmaps", name)

    async def test_two_controllers_of_one_object_are_refused(self, client: Client, name: str) -> None:
        parent = await client.create(a_config_map(name))
        twice = [owner(parent, controller=True), owner(parent, controller=True) | {"uid": "other"}]
        with pytest.raises(Invalid, match="Only one reference can have Controller set to true"):
            await client.create(a_config_map(f"{name}-child", ownerReferences=twice))

    async def test_a_job_deleted_without_a_policy_warns_and_orphans(self, client: Client, name: str) -> None:
        suspended = a_job(name)
        suspended["spec"]["suspend"] = True
        job = await client.create(suspended)
        await client.create(a_config_map(f"{name}-child", ownerReferences=[owner(job)]))
        await client.delete("jobs.batch", name)
        await waits.until_gone(client, "jobs.batch", name)
        child = await waits.until(
            client, "configmaps", f"{name}-child", lambda it: "ownerReferences" not in it["metadata"]
        )
        assert child["metadata"]["name"] == f"{name}-child"


class TestDeleteCollection:
    async def test_everything_selected_goes(self, client: Client, name: str) -> None:
        for letter in "abc":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name, "letter": letter}))
        await client.delete_collection("configmaps", where=Where(labels=f"t={name},letter in (a,b)"))
        left = await client.list("configmaps", where=Where(labels=f"t={name}"))
        assert [item["metadata"]["name"] for item in left.items] == [f"{name}-c"]

    async def test_a_dry_run_of_it_deletes_nothing(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, labels={"t": name}))
        await client.delete_collection(
            "configmaps", where=Where(labels=f"t={name}"), options=Delete(dry_run=True)
        )
        assert await client.find("configmaps", name)


class TestProtected:
    async def test_the_default_namespace_cannot_be_deleted(self, client: Client) -> None:
        with pytest.raises(
            Forbidden, match='namespaces "default" is forbidden: this namespace may not be deleted'
        ):
            await client.delete("namespaces", "default", options=Delete(dry_run=True))  # whose cluster is it?
