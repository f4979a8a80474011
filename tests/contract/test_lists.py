"""Lists: selectors, pages, and which state they show."""

from __future__ import annotations

import contextlib

import pytest

from tests.builders import a_config_map, a_secret, a_waiting_pod
from trainshed.client import requests
from trainshed.client.client import Client
from trainshed.client.requests import ALL, Where
from trainshed.kube.faults import BadRequest, Expired, Fault, Invalid, Timeout


async def names(client: Client, labels: str = "", fields: str = "", kind: str = "configmaps") -> list[str]:
    found = await client.list(kind, where=Where(labels=labels, fields=fields))
    return [item["metadata"]["name"] for item in found.items]


class TestList:
    async def test_a_list_has_a_kind_a_revision_and_bare_items(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        page = await client.list_page("configmaps", where=Where(fields=f"metadata.name={name}"))
        assert (page["kind"], page["apiVersion"]) == ("ConfigMapList", "v1")
        assert page["metadata"]["resourceVersion"].isdigit()
        assert "kind" not in page["items"][0]

    async def test_an_empty_list_has_an_empty_list_of_items(self, client: Client) -> None:
        assert (await client.list_page("configmaps", where=Where(labels="nobody=has")))["items"] == []

    async def test_items_are_sorted_by_name(self, client: Client, name: str) -> None:
        for letter in "cab":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name}))
        assert await names(client, f"t={name}") == [f"{name}-{letter}" for letter in "abc"]

    async def test_a_namespace_that_does_not_exist_is_empty_not_missing(
        self, client: Client, name: str
    ) -> None:
        assert (await client.list("configmaps", name)).items == []

    async def test_all_namespaces_can_be_listed_at_once(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name, labels={"t": name}))
        found = await client.list("configmaps", ALL, Where(labels=f"t={name}"))
        assert [item["metadata"]["namespace"] for item in found.items] == [client.namespace]


class TestLabelSelectors:
    @pytest.mark.parametrize(
        ("selector", "matching"),
        [
            ("color=red", "a"),
            ("color==red", "a"),
            ("color!=red", "bc"),
            ("color in (red,blue)", "ab"),
            ("color notin (red,blue)", "c"),
            ("color", "ab"),
            ("!color", "c"),
            ("color in (red, blue),size=2", "b"),
        ],
    )
    async def test_each_form_selects_what_it_says(
        self, client: Client, name: str, selector: str, matching: str
    ) -> None:
        for letter, labels in {"a": {"color": "red"}, "b": {"color": "blue", "size": "2"}, "c": {}}.items():
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name, **labels}))
        assert await names(client, f"t={name},{selector}") == [f"{name}-{letter}" for letter in matching]

    async def test_an_unreadable_selector_is_a_bad_request(self, client: Client) -> None:
        with pytest.raises(BadRequest, match="unable to parse requirement"):
            await names(client, "a in b")

    async def test_a_value_that_cannot_be_a_label_is_a_bad_request(self, client: Client) -> None:
        with pytest.raises(BadRequest, match="a valid label must be an empty string or consist of"):
            await names(client, "a=-b-")


class TestFieldSelectors:
    async def test_an_object_can_be_selected_by_its_name(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        assert await names(client, fields=f"metadata.name={name}") == [name]

    async def test_not_equal_and_several_terms_work(self, client: Client, name: str) -> None:
        for letter in "ab":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name}))
        terms = f"metadata.name!={name}-a,metadata.namespace={client.namespace}"
        assert await names(client, f"t={name}", terms) == [f"{name}-b"]

    async def test_pods_can_be_selected_by_phase_and_node(self, client: Client, name: str) -> None:
        await client.create(a_waiting_pod(name, labels={"t": name}))
        for terms, found in {
            "status.phase=Pending,spec.nodeName=": [name],
            "status.phase=Running": [],
        }.items():
            assert await names(client, f"t={name}", terms, "pods") == found

    async def test_secrets_can_be_selected_by_type(self, client: Client, name: str) -> None:
        await client.create(a_secret(name, labels={"t": name}))
        assert await names(client, f"t={name}", "type=Opaque", "secrets") == [name]

    async def test_a_field_nobody_indexed_is_a_bad_request(self, client: Client) -> None:
        with pytest.raises(
            BadRequest, match=r"data\.a.* is not a known field selector|field label not supported"
        ):
            await names(client, fields="data.a=1")


class TestPaging:
    async def test_pages_are_consistent_and_complete(self, client: Client, name: str) -> None:
        for letter in "abcde":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name}))
        first = await client.list_page("configmaps", where=Where(labels=f"t={name}", limit=2))
        await client.delete("configmaps", f"{name}-e")
        onward = Where(labels=f"t={name}", limit=5, token=first["metadata"]["continue"])
        second = await client.list_page("configmaps", where=onward)
        found = [item["metadata"]["name"] for page in (first, second) for item in page["items"]]
        assert found == [f"{name}-{letter}" for letter in "abcde"]
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        assert "continue" not in second["metadata"]

    async def test_a_page_without_selectors_says_how_many_remain(self, client: Client, name: str) -> None:
        for letter in "abc":
            await client.create(a_config_map(f"{name}-{letter}"))
        page = await client.list_page("configmaps", where=Where(limit=1))
        assert len(page["items"]) == 1
        assert page["metadata"]["remainingItemCount"] >= 2

    async def test_the_client_collects_all_pages(self, client: Client, name: str) -> None:
        for letter in "abcde":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name}))
        found = await client.list("configmaps", where=Where(labels=f"t={name}", limit=2))
        assert len(found.items) == 5

    async def test_a_token_nobody_gave_is_refused(self, client: Client) -> None:
        with pytest.raises((BadRequest, Expired), match="continue"):
            await client.list_page("configmaps", where=Where(limit=1, token="bm9uc2Vuc2U"))

    async def test_a_token_stands_for_its_own_revision(self, client: Client, name: str) -> None:
        for letter in "ab":
            await client.create(a_config_map(f"{name}-{letter}", labels={"t": name}))
        first = await client.list_page("configmaps", where=Where(labels=f"t={name}", limit=1))
        where = Where(
            labels=f"t={name}",
            token=first["metadata"]["continue"],
            revision=first["metadata"]["resourceVersion"],
        )
        with pytest.raises(
            BadRequest, match="specifying resource version is not allowed when using continue"
        ):
            await client.list_page("configmaps", where=where)

    async def test_fields_are_selected_by_the_names_of_the_version_asked(
        self, client: Client, name: str
    ) -> None:
        involved = {"kind": "Pod", "name": name, "namespace": client.namespace}
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "reason": "Test"}
        await client.create({**event, "involvedObject": involved, "message": "some", "type": "Normal"})
        for kind, field in (("events", "involvedObject"), ("events.events.k8s.io", "regarding")):
            found = await client.list(kind, where=Where(fields=f"{field}.name={name}"))
            assert [item["metadata"]["name"] for item in found.items] == [name]


class TestListRevisions:
    async def test_a_list_is_as_new_as_every_write_before_it(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        listed = await client.list("configmaps")
        assert int(listed.revision) >= int(made["metadata"]["resourceVersion"])

    async def test_not_older_than_a_revision_is_at_least_that_new(self, client: Client, name: str) -> None:
        made = await client.create(a_config_map(name))
        where = Where(labels="t=none", revision=made["metadata"]["resourceVersion"], match="NotOlderThan")
        assert int((await client.list("configmaps", where=where)).revision) >= int(where.revision)

    async def test_exactly_an_earlier_revision_is_that_state_or_expired(
        self, client: Client, name: str
    ) -> None:
        made = await client.create(a_config_map(name, labels={"t": name}))
        await client.delete("configmaps", name)
        where = Where(labels=f"t={name}", revision=made["metadata"]["resourceVersion"], match="Exact")
        with contextlib.suppress(Expired):
            assert len((await client.list("configmaps", where=where)).items) == 1

    async def test_a_revision_that_is_no_number_is_refused(self, client: Client) -> None:
        with pytest.raises(Fault, match=r"Invalid value|invalid syntax|invalid resource version"):
            await client.list("configmaps", where=Where(revision="yesterday"))

    async def test_a_revision_from_the_future_times_out(self, client: Client) -> None:
        newest = int((await client.list("configmaps")).revision)
        request = requests.list(
            await client.resource("configmaps"), client.namespace, Where(revision=str(newest + 10_000_000))
        )
        with pytest.raises(Timeout, match="Too large resource version") as refused:
            await client.call(request)
        assert "ResourceVersionTooLarge" in [cause.reason for cause in refused.value.causes]

    async def test_a_match_without_a_revision_is_refused(self, client: Client) -> None:
        with pytest.raises(
            Invalid, match="resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless"
        ):
            await client.list("configmaps", where=Where(match="Exact"))
