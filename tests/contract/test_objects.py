"""Creating, reading and replacing single objects."""

from __future__ import annotations

import re

import pytest

from tests.builders import a_config_map, a_job, a_lease, a_secret, a_service, a_waiting_pod, unlocked
from trainshed.client.client import Client
from trainshed.client.requests import Write
from trainshed.kube.faults import AlreadyExists, BadRequest, Conflict, Fault, Invalid, NotFound

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
DRY = Write(dry_run=True)


class TestCreate:
    async def test_the_server_fills_in_the_identity_of_a_new_object(self, client: Client, name: str) -> None:
        meta = (await client.create(a_config_map(name, {"a": "1"})))["metadata"]
        assert (meta["name"], meta["namespace"]) == (name, client.namespace)
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta["uid"])
        assert re.fullmatch(TIME, meta["creationTimestamp"])
        assert meta["resourceVersion"].isdigit()

    async def test_what_was_created_can_be_read(self, client: Client, name: str) -> None:
        created = await client.create(a_config_map(name, {"a": "1"}, labels={"x": "y"}))
        assert await client.get("configmaps", name) == created

    async def test_identity_sent_by_the_client_is_ignored(self, client: Client, name: str) -> None:
        sent = a_config_map(
            name, uid="11111111-2222-3333-4444-555555555555", creationTimestamp="2001-01-01T00:00:00Z"
        )
        meta = (await client.create(sent))["metadata"]
        assert not meta["uid"].startswith("11111111")
        assert not meta["creationTimestamp"].startswith("2001")

    async def test_a_second_object_of_the_same_name_is_refused(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(AlreadyExists, match=f'^configmaps "{name}" already exists$') as refused:
            await client.create(a_config_map(name))
        assert (refused.value.kind, refused.value.name, refused.value.group) == ("configmaps", name, "")

    async def test_an_object_without_any_name_is_refused(self, client: Client) -> None:
        with pytest.raises(
            Invalid, match=r"metadata\.name: Required value: name or generateName is required"
        ):
            await client.create(a_config_map(""))

    async def test_a_resource_version_on_a_new_object_is_refused(self, client: Client, name: str) -> None:
        with pytest.raises(Fault, match="resourceVersion should not be set on objects to be created"):
            await client.create(a_config_map(name, resourceVersion="1"))

    async def test_a_namespace_other_than_the_urls_is_refused(self, client: Client, name: str) -> None:
        with pytest.raises(
            BadRequest, match="the namespace of the provided object does not match the namespace"
        ):
            await client.create(a_config_map(name, namespace="default"), namespace=client.namespace)

    async def test_a_namespace_that_does_not_exist_is_not_found(self, client: Client, name: str) -> None:
        with pytest.raises(NotFound, match=f'^namespaces "{name}" not found$'):
            await client.create(a_config_map("x"), namespace=name)


class TestGenerateName:
    async def test_a_prefix_becomes_a_name(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map("", generateName=f"{name}-"))
        assert re.fullmatch(rf"{name}-[bcdfghjklmnpqrstvwxz2456789]{{5}}", made["metadata"]["name"])
        assert made["metadata"]["generateName"] == f"{name}-"

    async def test_a_long_prefix_is_cut_so_that_the_name_fits(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map("", generateName=name + "x" * 80))
        assert len(made["metadata"]["name"]) == 63

    async def test_a_given_name_wins_over_a_prefix(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, generateName="other-"))
        assert made["metadata"]["name"] == name


class TestDryRun:
    async def test_a_dry_create_answers_as_a_real_one_but_leaves_nothing(
        self, client: Client, name: str
    ) -> None:
        made = await client.create(a_config_map(name, {"a": "1"}), write=DRY)
        assert made["metadata"]["uid"]
        assert await client.find("configmaps", name) is None

    async def test_a_dry_patch_shows_the_outcome_and_changes_nothing(self, client: Client, name: str) -> None:
        before = await client.create(a_config_map(name, {"a": "1"}))
        shown = await client.patch("configmaps", name, {"data": {"a": "2"}}, write=DRY)
        assert shown["data"] == {"a": "2"}
        assert await client.get("configmaps", name) == before

    async def test_a_dry_create_is_still_checked(self, client: Client) -> None:
        with pytest.raises(Invalid):
            await client.create(a_config_map("Not_A_Name"), write=DRY)


class TestReplace:
    async def test_a_replacement_is_stored_whole(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, {"a": "1", "b": "2"}))
        await client.replace({**made, "data": {"c": "3"}})
        assert (await client.get("configmaps", name))["data"] == {"c": "3"}

    async def test_every_change_moves_the_resource_version_on(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, {"a": "1"}))
        changed = await client.replace({**made, "data": {"a": "2"}})
        assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])

    async def test_a_replacement_that_changes_nothing_leaves_the_resource_version(
        self, client: Client, name: str
    ) -> None:
        made = await client.create(a_config_map(name, {"a": "1"}))
        assert (await client.replace(made))["metadata"]["resourceVersion"] == made["metadata"][
            "resourceVersion"
        ]

    async def test_identity_survives_a_replacement_that_omits_it(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name, {"a": "1"}))
        after = await client.replace(a_config_map(name, {"a": "2"}))
        for key in ("uid", "creationTimestamp"):
            assert after["metadata"][key] == made["metadata"][key]

    async def test_what_does_not_exist_cannot_be_replaced(self, client: Client, name: str) -> None:
        with pytest.raises(NotFound, match=f'^configmaps "{name}" not found$'):
            await client.replace(a_config_map(name))

    async def test_another_uid_is_a_conflict(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(
            Conflict, match="Precondition failed: UID in precondition: abc, UID in object meta: "
        ):
            await client.replace(a_config_map(name, uid="abc"))


class TestOptimisticConcurrency:
    async def test_writing_over_a_change_one_has_not_seen_is_a_conflict(
        self, client: Client, name: str
    ) -> None:
        first = await client.create(a_config_map(name, {"a": "1"}))
        await client.replace({**first, "data": {"a": "2"}})
        with pytest.raises(Conflict) as refused:
            await client.replace({**first, "data": {"a": "3"}})
        assert refused.value.message == (
            f'Operation cannot be fulfilled on configmaps "{name}": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )
        assert (refused.value.kind, refused.value.name) == ("configmaps", name)

    async def test_without_a_resource_version_the_last_writer_wins(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, {"a": "1"}))
        await client.replace(a_config_map(name, {"a": "2"}))
        assert (await client.get("configmaps", name))["data"] == {"a": "2"}

    async def test_a_resource_version_in_a_patch_is_a_lock(self, client: Client, name: str) -> None:
        first = await client.create(a_config_map(name, {"a": "1"}))
        await client.patch("configmaps", name, {"data": {"a": "2"}})
        stale = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}, "data": {"a": "3"}}
        with pytest.raises(Conflict, match="the object has been modified"):
            await client.patch("configmaps", name, stale)


class TestConfigMap:
    async def test_an_immutable_one_stays_as_it_is(self, client: Client, name: str) -> None:
        made = await client.create({**a_config_map(name, {"a": "1"}), "immutable": True})
        with pytest.raises(Invalid, match=r"data: Forbidden: field is immutable when `immutable` is set"):
            await client.replace({**made, "data": {"a": "2"}})

    async def test_keys_have_a_form(self, client: Client, name: str) -> None:
        with pytest.raises(
            Invalid, match=r'data\[bad key\]: Invalid value: "bad key": a valid config key must'
        ):
            await client.create(a_config_map(name, {"bad key": "1"}))

    async def test_binary_data_is_base64(self, client: Client, name: str) -> None:
        made = await client.create({**a_config_map(name), "binaryData": {"x": "aGVsbG8="}})
        assert made["binaryData"] == {"x": "aGVsbG8="}


class TestSecret:
    async def test_plain_text_is_stored_encoded(self, client: Client, name: str) -> None:
        made = await client.create(a_secret(name, {"password": "hello"}))
        assert made["data"] == {"password": "aGVsbG8="}
        assert "stringData" not in made

    async def test_the_type_defaults_to_opaque_and_cannot_change(self, client: Client, name: str) -> None:
        made = await client.create(a_secret(name))
        assert made["type"] == "Opaque"
        with pytest.raises(Invalid, match=r"type: Invalid value: .*: field is immutable"):
            await client.replace({**made, "type": "other"})


class TestService:
    async def test_ports_get_their_defaults(self, client: Client, name: str) -> None:
        made = await client.create(a_service(name))
        assert made["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
        assert (made["spec"]["type"], made["spec"]["sessionAffinity"]) == ("ClusterIP", "None")

    async def test_a_headless_one_keeps_its_none_address(self, client: Client, name: str) -> None:
        service = a_service(name)
        service["spec"]["clusterIP"] = "None"
        made = await client.create(service)
        assert (made["spec"]["clusterIP"], made["spec"]["clusterIPs"]) == ("None", ["None"])

    async def test_a_name_must_be_a_label_that_starts_with_a_letter(self, client: Client) -> None:
        with pytest.raises(
            Invalid, match=r'metadata\.name: Invalid value: "1abc": a DNS-1035 label must consist'
        ):
            await client.create(a_service("1abc"))


class TestLease:
    async def test_times_keep_their_microseconds(self, client: Client, name: str) -> None:
        lease = a_lease(name)
        lease["spec"]["renewTime"] = "2026-01-02T03:04:05.123456Z"
        assert (await client.create(lease))["spec"]["renewTime"] == "2026-01-02T03:04:05.123456Z"

    async def test_a_duration_must_be_positive(self, client: Client, name: str) -> None:
        lease = a_lease(name)
        lease["spec"]["leaseDurationSeconds"] = 0
        with pytest.raises(
            Invalid, match=r"spec\.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
        ):
            await client.create(lease)


class TestPod:
    async def test_defaults_are_filled_in(self, client: Client, name: str) -> None:
        spec = (await client.create(a_waiting_pod(name)))["spec"]
        container = spec["containers"][0]
        assert (spec["restartPolicy"], spec["dnsPolicy"]) == ("Always", "ClusterFirst")
        assert (spec["terminationGracePeriodSeconds"], spec["schedulerName"]) == (30, "default-scheduler")
        assert container["imagePullPolicy"] == "IfNotPresent"
        assert container["terminationMessagePath"] == "/dev/termination-log"

    async def test_a_new_pod_is_pending(self, client: Client, name: str) -> None:
        made = await client.create(a_waiting_pod(name))
        assert (made["status"]["phase"], made["status"]["qosClass"]) == ("Pending", "BestEffort")

    async def test_its_containers_cannot_change(self, client: Client, name: str) -> None:
        made = await client.create(a_waiting_pod(name))
        made["spec"]["containers"][0]["command"] = ["false"]
        with pytest.raises(Invalid, match=r"spec: Forbidden: pod updates may not change fields other than"):
            await client.replace(made)

    async def test_a_pod_needs_a_container(self, client: Client, name: str) -> None:
        with pytest.raises(Invalid, match=r"spec\.containers: Required value"):
            await client.create(a_waiting_pod(name, {"containers": []}))

    async def test_all_faults_are_told_at_once(self, client: Client, name: str) -> None:
        broken = {"restartPolicy": "Sometimes", "containers": [{"name": "UPPER", "image": ""}]}
        with pytest.raises(Invalid) as refused:
            await client.create(a_waiting_pod(name, broken))
        fields = {cause.field for cause in refused.value.causes}
        assert fields >= {"spec.restartPolicy", "spec.containers[0].name", "spec.containers[0].image"}


class TestJob:
    async def test_it_gets_a_selector_and_labels_of_its_own(self, client: Client, name: str) -> None:
        made = await client.create(a_job(name))
        uid = made["metadata"]["uid"]
        assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        assert made["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == name
        assert made["spec"]["template"]["metadata"]["labels"]["controller-uid"] == uid

    async def test_defaults_are_filled_in(self, client: Client, name: str) -> None:
        spec = (await client.create(a_job(name)))["spec"]
        assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
        assert (spec["completionMode"], spec["suspend"]) == ("NonIndexed", False)

    async def test_its_pods_must_not_always_restart(self, client: Client, name: str) -> None:
        job = a_job(name)
        del job["spec"]["template"]["spec"]["restartPolicy"]
        with pytest.raises(Invalid) as refused:
            await client.create(job)
        assert refused.value.message == (
            f'Job.batch "{name}" is invalid: spec.template.spec.restartPolicy: Required value: '
            'valid values: "OnFailure", "Never"'
        )

    async def test_its_template_cannot_change(self, client: Client, name: str) -> None:
        made = await client.create(a_job(name))
        made["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
        with pytest.raises(Invalid, match=r"spec\.template: Invalid value: .*: field is immutable"):
            await client.replace(unlocked(made))
